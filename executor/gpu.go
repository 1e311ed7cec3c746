package executor

import (
	"context"
	"runtime"
	"sync"
	"time"

	"mscclc/executor/abi"
	"mscclc/executor/data"
	"mscclc/executor/launch"
)

// GPUs are a Device that also works beside the host: what is launched or copied
// there has only begun when the call returns, and a Stream is what it ends in
// order with. Prepare takes them.
type GPUs interface {
	Device
	// Open gives the GPUs, in the order in which ranks go round them.
	GPUs() ([]GPU, error)
	// Driver names the driver and its version.
	Driver() (string, error)
	// NewLaunchOrder begins the order of a plan's launches.
	NewLaunchOrder() (LaunchOrder, error)
	// Alone returns the lock that is held through a launch that is waited for, with the memory that it makes and frees.
	// It is one for all GPUs of the driver, which may have whoever makes memory wait for the end of a kernel, and that
	// kernel may wait for one on another GPU that is yet to be launched.
	Alone() sync.Locker
}

// A Width is how plans on some GPUs are made and called where nobody says: the most replicas that there is memory for,
// those of a call, and the bytes of a tile. A call of less than ReplicaBytes for each replica has fewer. Shares says
// whether replicas can share CTAs (ir.TB).
type Width struct {
	Most, Replicas int
	Tile           int64
	Shares         bool
}

// UsualWidth returns what GPUs that have a method Usual say, or else as much as a large GPU has room for.
func UsualWidth(gpus GPUs) Width {
	if own, ok := gpus.(interface{ Usual() Width }); ok {
		return own.Usual()
	}
	return Width{Most: launch.UsualReplicas, Replicas: launch.UsualReplicas, Tile: launch.PlanTile}
}

// A LaunchOrder orders the launches of one plan in this process. On each GPU they go one after
// the other; the n-th on all GPUs run together. Flights that have no room on a
// GPU together are ordered, on all GPUs alike, whatever the order of the calls and
// streams.
type LaunchOrder interface {
	// Mark notes what was launched so far, and Busy whether some of that still runs.
	Mark() error
	Busy() (bool, error)
	// Release lets others go on that are ordered after this one: its launches
	// fail and leave. Renew ends that, when nothing runs.
	Release()
	Renew()
	Close() error
}

// A GPU is one of them. Its memory, streams and events are of the process, and may
// be used from any goroutine. After a fault of the GPU every call returns it.
type GPU interface {
	Number() int
	Name() string // of its kind, as the driver has it
	String() string

	// Use makes this GPU the current GPU of the calling OS thread (runtime.LockOSThread), as other libraries of the
	// same driver need it.
	Use() error

	// Alloc makes memory, zeroed. No kernel may be running that waits for what is
	// yet to be launched: the driver may wait for its end.
	Alloc(bytes int64) (address uint64, err error)
	Free(address uint64) error
	// Owns says why bytes from address on are no memory of this GPU's, in one piece or in
	// segments that were mapped side by side.
	Owns(address uint64, bytes int64) error

	// Reaches says why kernels of this GPU cannot access memory of another at all.
	Reaches(to GPU) error

	// Connect lets the kernels of this GPU access memory of another, in this process.
	Connect(to GPU, address uint64, bytes int64) error
	// Share makes a handle of bytes at an address, with which Reach in another
	// process gives the address of the same there. Leave undoes one Reach. Unshare follows when all
	// have reached it: that takes the process that has the memory.
	Share(address uint64, bytes int64) ([]byte, error)
	Unshare(handle []byte) error
	Reach(handle []byte) (address uint64, err error)
	Leave(handle []byte) error

	// AllocNet makes memory of the host, zeroed, that kernels of all GPUs of this process access, and the proxy that
	// carries messages between nodes; ZeroNet zeroes some of it. ShareNet makes a handle of it for processes of this
	// node, and ReachNet gives them its address there.
	AllocNet(bytes int64) (address uint64, err error)
	FreeNet(address uint64) error
	ZeroNet(address uint64, bytes int64) error
	ShareNet(address uint64, bytes int64) ([]byte, error)
	ReachNet(handle []byte) (address uint64, err error)
	LeaveNet(handle []byte) error

	// Peek and Poke read and write words beside what runs.
	Peek(to []byte, address uint64) error
	Poke(address uint64, from []byte) error

	NewStream() (Stream, error)
	StreamOf(handle uintptr) Stream // one that another library made, and closes
	NewEvent() (Event, error)

	// NewPort makes a port with a number of lanes, whose ends are memory of this GPU (PortLane, PortEnds), for copies
	// from and to a number of peers. It is yet to be started.
	NewPort(lanes, peers int, ends uint64) (Port, error)

	// Load has the kernels for a type of elements ready. It returns how many of their blocks, with the most threads, are
	// resident at once.
	Load(t data.DType, k KernelKind) (blocks int, err error)
	// Ready makes a launch ready, of which it keeps a copy.
	Ready(l *Ready) (PreparedLaunch, error)
}

// A KernelKind is what programs a kernel is for: two-sided ones, one-sided ones, such with a port, such of several
// nodes, and of these such whose replicas share CTAs.
type KernelKind int

// The kinds of kernels.
const (
	TwoSidedKernel KernelKind = iota
	OneSidedKernel
	PortKernel
	NetKernel
	TogetherKernel
)

// A Port makes copies that kernels ask for while they run: a thread of the host polls what they ask, in memory of the
// host, and hands it to the GPU's copy engines.
type Port interface {
	Lanes() uint64 // the address of the first
	Start() error  // with lanes that are empty; the ends must be zeroed
	Err() error    // what a copy has failed with, after which no other is made

	// Stop makes no more copies, and returns when those that were begun are over, or soon with an error. A
	// launch that asks for copies then runs out of time.
	Stop() error
	Close() error
}

// A Stream is a queue of work of one GPU: what is put there is done in order.
type Stream interface {
	GPU() GPU
	Handle() uintptr // the driver's own, for other libraries

	// Busy reports whether the stream has unfinished work. Sync waits until it has none, or until ctx ends; the
	// work goes on then.
	Busy() (bool, error)
	Sync(ctx context.Context) error

	// Put copies to the GPU's memory and Get from it, after the earlier work; both
	// wait for their end. Copy and Fill, on the GPU, do not.
	Put(address uint64, from []byte) error
	Get(to []byte, address uint64) error
	Copy(to, from uint64, bytes int64) error
	Fill(address uint64, value byte, bytes int64) error

	// Record has e happen when all work before it is done; Await has work that is
	// put on it later wait for e, which may be of another GPU.
	Record(e Event) error
	Await(e Event) error

	// Capture begins to note work in a graph instead of doing it: that of this
	// stream, and what Await ties to it. EndCapture makes the graph.
	Capture() error
	EndCapture() (Graph, error)

	// Close waits for the stream's work.
	Close() error
}

// An Event is a point in a stream's work.
type Event interface {
	// Since is the time from another event of the GPU to this one; both have happened.
	Since(begin Event) (time.Duration, error)
	Close() error
}

// A Graph is captured work, which may be launched any number of times, one after
// the other. A launch of it costs the host one call, however much it holds.
type Graph interface {
	Launch(s Stream) error
	Close() error
}

// Ready is what a GPU needs for a launch.
type Ready struct {
	Order   LaunchOrder
	One     *abi.OneParams   // of a one-sided program: Replicas by BlockCount blocks
	Two     *abi.TwoParams   // or of a two-sided one: BlockCount
	Trace   *abi.TraceTables // of a two-sided one that is traced
	Threads int              // of a block; 0 for the most with which all blocks are co-resident
	Copies  bool             // no step of a one-sided program folds
	Lines   bool             // its packets are lines
	Net     bool             // it is of several nodes
	CTAs    int              // those that do something, of Replicas by BlockCount; 0 is all
	Shared  int              // replicas that share some of them: each has a part of the threads; 0 where none do
	Rows    *abi.Rows        // where it has an epilogue
	Few     *abi.FewParams   // where its launch is of few packets; nil is the general way
	Help    abi.Help         // where it is of several nodes: what threads of the host do while they wait
}

// A PreparedLaunch is a prepared launch: a kernel launch with all arguments bound.
type PreparedLaunch interface {
	Launch(s Stream) error // one call of the driver
	Threads() int          // of a block
	Room() int             // blocks like these that the GPU holds at once
	Close() error
}

// Await polls busy until it returns false: at first without sleep, since most work is short.
func Await(ctx context.Context, busy func() (bool, error)) error {
	for polls := 0; ; polls++ {
		if is, err := busy(); err != nil || !is {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if polls < 1000 {
			runtime.Gosched()
		} else {
			time.Sleep(20 * time.Microsecond)
		}
	}
}
