package plan

import (
	"context"
	"errors"
	"math/bits"
	"slices"
	"sync"
	"time"

	"mscclc/executor"
	"mscclc/executor/abi"
	"mscclc/executor/data"
	"mscclc/executor/proof"
	"mscclc/ir"
	"mscclc/ir/epilogue"
)

// A instance is a plan that Run waits for, whose buffers are copied to the GPUs and
// back.
type instance struct {
	gpus       executor.GPUs
	alone      sync.Locker // of gpus
	img        *abi.Image
	plan       *Plan             // or nil
	streams    []executor.Stream // by seat
	begin, end []executor.Event
	input, out []buffer // by rank
	rows       [][2][epilogue.MostStages]buffer
}

// A buffer is memory that grows.
type buffer struct {
	gpu     executor.GPU
	address uint64
	bytes   int
}

// Open opens an image on GPUs as a plan.
func Open(gpus executor.GPUs, img *abi.Image) (executor.Instance, error) {
	ranks := img.Program.Coll.Ranks
	in := &instance{gpus: gpus, alone: gpus.Alone(), img: img, input: make([]buffer, ranks),
		out: make([]buffer, ranks), rows: make([][2][epilogue.MostStages]buffer, ranks)}
	if img.One == nil { // what its slots are to be, calls say
		if _, err := gpus.GPUs(); err != nil {
			return nil, err
		}
		return in, nil
	}
	in.alone.Lock()
	defer in.alone.Unlock()
	if err := in.prepare(&Options{Replicas: img.One.Replicas, TileBytes: img.One.Tile}); err != nil {
		return nil, err
	}
	return in, nil
}

// prepare makes the plan.
func (in *instance) prepare(opt *Options) error {
	opt.GPUs = in.gpus
	checked := executor.Checked{Image: in.img, Proof: proof.None(in.img.Program)} // Run has proven it
	plan, err := newPlan(context.Background(), checked, opt)
	if err != nil {
		return err
	}
	in.plan = plan
	for _, g := range plan.GPUs() {
		s, err1 := g.NewStream()
		begin, err2 := g.NewEvent()
		end, err3 := g.NewEvent()
		if err := errors.Join(err1, err2, err3); err != nil {
			return errors.Join(err, in.drop())
		}
		in.streams, in.begin, in.end = append(in.streams, s), append(in.begin, begin), append(in.end, end)
	}
	return nil
}

// leastTile is the bytes of a tile for which slots are made at least.
const leastTile = 16 << 10

// fit sees to a plan whose slots fit a launch of a two-sided program.
func (in *instance) fit(p *abi.Params) error {
	slots, tile := int(p.Slots), int64(p.Tile)*int64(p.ElemSize)
	if in.plan != nil {
		have := in.plan.kind.(*twoSided)
		if have.cut.Proto == ir.Protocol(p.Proto) && have.asked == slots && have.cut.SlotBytes == int64(p.SlotBytes) &&
			have.cut.Bytes >= tile {
			return nil
		}
		if err := in.drop(); err != nil {
			return err
		}
	}
	proto := ir.Protocol(p.Proto)
	return in.prepare(&Options{Protocol: &proto, Slots: slots, SlotBytes: int64(p.SlotBytes),
		TileBytes: max(leastTile, int64(1)<<bits.Len64(uint64(tile-1)))})
}

// Launch runs the plan once.
func (in *instance) Launch(ctx context.Context, l *executor.Launch) (executor.Stop, error) {
	in.alone.Lock()
	defer in.alone.Unlock()
	if l.Watch != nil {
		return executor.Stop{}, errors.New("a GPU cannot be watched")
	}
	args := CallArgs{Threads: l.PerBlock, Trace: l.Trace}
	if one := l.One; one != nil {
		args.DType, args.RedOp, args.Elems = data.DType(one.DType), data.RedOp(one.RedOp), int64(one.Elems)
		args.Replicas, args.TileBytes = int(one.Replicas), int64(one.Tile)
	} else {
		two := &l.Params
		if err := in.fit(two); err != nil {
			return executor.Stop{}, err
		}
		args.DType, args.RedOp, args.Elems = data.DType(two.DType), data.RedOp(two.RedOp), int64(two.Elems)
		args.TileBytes = int64(two.Tile) * int64(two.ElemSize)
	}
	if err := errors.Join(in.memory(l, &args), in.rowMemory(l, &args)); err != nil {
		return executor.Stop{}, err
	}
	call, err := in.plan.Bind(ctx, args)
	if err != nil {
		return executor.Stop{}, err
	}
	took, err := in.run(ctx, l, call)
	if err == nil && l.Trace != nil {
		err = call.TakeTrace()
	}
	return executor.Stop{Kernel: took}, errors.Join(err, call.Close())
}

// memory sees to buffers on the GPUs.
func (in *instance) memory(l *executor.Launch, args *CallArgs) error {
	for r := range l.Memory {
		for k, host := range [2][]byte{l.Memory[r].Input, l.Memory[r].Output} {
			b := [2]*buffer{&in.input[r], &in.out[r]}[k]
			b.gpu = in.plan.GPU(r)
			if err := b.grow(len(host)); err != nil {
				return err
			}
		}
		args.Input = append(args.Input, in.input[r].address)
		if l.Memory[r].Output != nil {
			args.Output = append(args.Output, in.out[r].address)
		}
	}
	return nil
}

// rowMemory sees to buffers for the stages of an epilogue. What a stage reads and writes in one place is one buffer.
func (in *instance) rowMemory(l *executor.Launch, args *CallArgs) error {
	if l.Rows == nil {
		return nil
	}
	args.Rows = &RowArgs{Length: int(l.Rows.Length), Memory: make([]abi.RowMemory, len(l.RowMemory))}
	for i := range l.Rows.Stages {
		args.Rows.Values = append(args.Rows.Values, l.Rows.Stage[i].Value)
	}
	for r, m := range l.RowMemory {
		to := [2]*[epilogue.MostStages]uint64{&args.Rows.Memory[r].First, &args.Rows.Memory[r].Second}
		for k, list := range [2][][]byte{m.First, m.Second} {
			for i, host := range list {
				if k == 1 && inPlace(m, i) {
					to[1][i] = to[0][i]
					continue
				}
				b := &in.rows[r][k][i]
				b.gpu = in.plan.GPU(r)
				if err := b.grow(len(host)); err != nil {
					return err
				}
				if len(host) > 0 {
					to[k][i] = b.address
				}
			}
		}
	}
	return nil
}

// inPlace reports whether stage i writes what it reads.
func inPlace(m executor.RowMemory, i int) bool {
	return i < len(m.First) && len(m.First[i]) > 0 && len(m.Second[i]) > 0 && &m.First[i][0] == &m.Second[i][0]
}

func (b *buffer) grow(bytes int) (err error) {
	if bytes <= b.bytes {
		return nil
	}
	if err := b.free(); err != nil {
		return err
	}
	if b.address, err = b.gpu.Alloc(int64(bytes)); err == nil {
		b.bytes = bytes
	}
	return err
}

func (b *buffer) free() (err error) {
	if b.address != 0 {
		err = b.gpu.Free(b.address)
	}
	b.address, b.bytes = 0, 0
	return err
}

// run copies, launches, waits, and copies back.
func (in *instance) run(ctx context.Context, l *executor.Launch, call *Call) (took time.Duration, err error) {
	if err := errors.Join(in.plan.SetWait(l.Wait), in.copies(l, executor.Stream.Put)); err != nil {
		return 0, err
	}
	for i, s := range in.streams {
		if err := errors.Join(s.Record(in.begin[i]), call.Launch(s), s.Record(in.end[i])); err != nil {
			return 0, errors.Join(err, in.plan.Wait(ctx))
		}
	}
	if err := in.plan.Wait(ctx); err != nil {
		return 0, errors.Join(err, in.plan.Reset(context.WithoutCancel(ctx)))
	}
	for i, s := range in.streams {
		if err := s.Sync(ctx); err != nil {
			return 0, err
		}
		t, err := in.end[i].Since(in.begin[i])
		if err != nil {
			return 0, err
		}
		took = max(took, t)
	}
	get := func(s executor.Stream, address uint64, host []byte) error { return s.Get(host, address) }
	return took, in.copies(l, get)
}

// copies copies all buffers one way, outputs too, so that what is not written stays as
// it was.
func (in *instance) copies(l *executor.Launch, one func(s executor.Stream, address uint64, host []byte) error) error {
	for r := range l.Memory {
		s := in.streams[slices.Index(in.plan.GPUs(), in.plan.GPU(r))]
		if err := errors.Join(one(s, in.input[r].address, l.Memory[r].Input),
			one(s, in.out[r].address, l.Memory[r].Output)); err != nil {
			return err
		}
		if l.Rows == nil {
			continue
		}
		m := l.RowMemory[r]
		for k, list := range [2][][]byte{m.First, m.Second} {
			for i, host := range list {
				if len(host) == 0 || k == 1 && inPlace(m, i) {
					continue
				}
				if err := one(s, in.rows[r][k][i].address, host); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// drop frees the plan, and what it is run by.
func (in *instance) drop() error {
	if in.plan == nil {
		return nil
	}
	err := in.plan.Close()
	for i, s := range in.streams {
		err = errors.Join(err, in.begin[i].Close(), in.end[i].Close(), s.Close())
	}
	in.plan, in.streams, in.begin, in.end = nil, nil, nil, nil
	return err
}

// Close frees the plan, and the buffers.
func (in *instance) Close() error {
	in.alone.Lock()
	defer in.alone.Unlock()
	err := in.drop()
	for r := range in.input {
		err = errors.Join(err, in.input[r].free(), in.out[r].free())
		for k := range in.rows[r] {
			for i := range in.rows[r][k] {
				err = errors.Join(err, in.rows[r][k][i].free())
			}
		}
	}
	return err
}
