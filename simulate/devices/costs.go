// Package devices has the costs of devices, which simulations add to the latencies and bandwidths of links: [Costs].
// Each device whose costs are known has a file in this folder, which [CostsOf] reads. [ReadCosts] reads a user's file.
package devices

import (
	"embed"
	"fmt"
	"strings"

	"mscclc/ir"
)

// Costs are what a device adds to the links' α and β. Times are in microseconds, rates in bytes a microsecond (1 GB/s
// is 1,000).
type Costs struct {
	Device string `json:"device"`
	Source string `json:"source"` // where the numbers are from

	// Unmeasured is whether nobody measured the costs of steps, launches and signals, which are then estimates.
	Unmeasured bool `json:"unmeasured,omitempty"`

	Memory float64 `json:"memory_bytes_us"`         // what a GPU reads and writes of its own memory, both counted
	Node   float64 `json:"node_bytes_us,omitempty"` // the same of all ranks of a node, which share it; 0 is no limit

	Network NetworkCosts `json:"network"`

	OneSided OneSidedCosts `json:"one_sided"`
	TwoSided TwoSidedCosts `json:"two_sided"`
}

// NetworkCosts are those of the proxies that carry the messages of one-sided programs between nodes: one for each rank,
// which does one thing after the other.
type NetworkCosts struct {
	Message float64 `json:"message_us"`          // for each message, at the sender and again at the receiver
	Signal  float64 `json:"signal_us,omitempty"` // that a signal for other nodes holds its block up, once
	NIC     float64 `json:"nic_us,omitempty"`    // that each message occupies the links between nodes for, beside its bytes
	Bytes   float64 `json:"bytes_us,omitempty"`  // what a proxy moves; 0 where the NIC moves all
}

// OneSidedCosts are those of one-sided programs.
type OneSidedCosts struct {
	// from a launch's begin to the first step, and from the last to its end
	Launch float64 `json:"launch_us"`
	// the same of a launch of few packets, which needs no general interpreter
	Few    float64 `json:"launch_few_us"`
	Signal float64 `json:"signal_us"` // a signal, after the block's stores: what orders them
	Await  float64 `json:"await_us"`  // from a flag's arrival to the next step
	// that a Move takes more that finishes rows (ir/epilogue), and for each number that the threads of a row share, such
	// as the sum of its squares
	Finish float64 `json:"finish_us"`
	Row    float64 `json:"row_us"`
	// Finish of a launch of few packets, for each row: a block finishes one after the other. H200's is what a row of 16 KB
	// takes beside FewRows and Row (kernels/NOTES.md, "The short path of rows").
	FewFinish float64 `json:"few_finish_us"`
	Joint     float64 `json:"joint_us"` // from a step to one that is joint with it
	// that a port's proxy is busy with a copy, before that begins
	Port    float64 `json:"port_us"`
	Threads int     `json:"threads"` // of a block that moves Block bytes a microsecond
	// CTAs of a given number of threads that a GPU holds at once. Those of a launch wait for each other, so that it has no
	// more. 0 is no limit.
	Resident float64       `json:"resident_ctas,omitempty"`
	Shares   bool          `json:"shared_ctas,omitempty"` // replicas may share CTAs (ir.TB)
	Links    []LinkCosts   `json:"links,omitempty"`       // over which a CTA is slower than over others
	Apart    ApartCosts    `json:"apart"`                 // where GPUs do not reach each other's memory
	Protocol ProtocolCosts `json:"-"`                     // in files, by name
}

// ApartCosts are those of GPUs that do not reach each other's memory, and share that of the host. Who waits polls it.
type ApartCosts struct {
	Await   float64 `json:"await_us,omitempty"`        // more, from the arrival of a signal or packet to the next step
	Packets float64 `json:"packet_bytes_us,omitempty"` // what all CTAs of a GPU move of packets; 0 is no limit
}

// LinkCosts are what a CTA moves over links of a class of a topology, as part of what it moves over others.
type LinkCosts struct {
	Class string  `json:"class"`
	Rate  float64 `json:"rate"` // above 0, and 1 at most
}

// ProtocolCosts are those of each protocol. A file need not name a protocol that is like another (ir.ProtocolRow).
type ProtocolCosts [ir.NumProtocols]MoveCosts

// MoveCosts are those of a Move, or of a message, of a protocol.
type MoveCosts struct {
	Step  float64 `json:"step_us"`        // beside its data
	Block float64 `json:"block_bytes_us"` // what a block moves; 1e5 where nothing shows that it bounds anything
	// bytes that a link is occupied for, for each byte of data: flags, and what their form wastes
	Wire float64 `json:"wire"`

	// The same in a one-sided launch of few packets, whose kernel does less.
	FewStep  float64 `json:"few_step_us,omitempty"`
	FewBlock float64 `json:"few_block_bytes_us,omitempty"`
	// and where it finishes rows, whose threads have several loads under way; 0: FewBlock
	FewRows float64 `json:"few_rows_bytes_us,omitempty"`
}

// InFew returns c in a one-sided launch of few packets. rows says that it finishes rows.
func (c MoveCosts) InFew(rows bool) MoveCosts {
	c.Step, c.Block = c.FewStep, c.FewBlock
	if rows && c.FewRows > 0 {
		c.Block = c.FewRows
	}
	return c
}

// TwoSidedCosts are those of two-sided programs.
type TwoSidedCosts struct {
	Launch  float64 `json:"launch_us"`
	Flag    float64 `json:"flag_us"`    // from a step's end to one of its rank that waits for it
	Network float64 `json:"network_us"` // more for a message between nodes: the host's proxies
	// until the sender knows of a slot that was freed, beside the links' α
	Credit   float64       `json:"credit_us"`
	Protocol ProtocolCosts `json:"-"` // in files, by name
}

//go:embed *.json
var files embed.FS

// Names lists the devices whose costs are known.
func Names() (names []string) {
	list, err := files.ReadDir(".")
	if err != nil {
		panic(err)
	}
	for _, f := range list {
		names = append(names, strings.TrimSuffix(f.Name(), ".json"))
	}
	return names
}

// SourceOf returns the file of the costs of a device, as ReadCosts reads it.
func SourceOf(device string) ([]byte, error) { return files.ReadFile(device + ".json") }

// Measured is the GPU whose costs were measured.
const Measured = "h200"

// StandIn returns costs for a device whose costs are not known: those of Measured, which are a guess there.
func StandIn(device string) *Costs {
	c, err := CostsOf(Measured)
	if err != nil {
		panic(err)
	}
	c.Device, c.Unmeasured, c.Source = device, true, "those of "+Measured+", as nothing is known of "+device
	return c
}

// Caveat returns what titles say of times with costs that nobody measured, or "".
func (c *Costs) Caveat() string {
	if !c.Unmeasured {
		return ""
	}
	return ", with costs that nobody measured"
}

// CostsOf returns the costs of a device, by the name that topologies have for it.
func CostsOf(device string) (*Costs, error) {
	name := device + ".json"
	text, err := files.Open(name)
	if err != nil {
		return nil, fmt.Errorf("the costs of device %q are not known; those of %s are", device, strings.Join(Names(), ", "))
	}
	defer text.Close()
	return ReadCosts(name, text)
}

// On returns the costs on a node of a given number of ranks, which share its memory.
func (c *Costs) On(ranks int) *Costs {
	if c.Node == 0 {
		return c
	}
	own := *c
	own.Memory = min(c.Memory, c.Node/float64(ranks))
	return &own
}
