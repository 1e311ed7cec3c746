package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"mscclc/executor"
	"mscclc/executor/data"
	"mscclc/ir/either"
)

// guard is the bytes before and after each buffer that nothing may write.
const guard = 4096

// poison is the byte that stands in memory which nobody has written.
const poison = 0xa5

// A Host is any device whose runs end before the next begins: the CPU.
type Host struct {
	name    string
	options executor.Options
	wait    time.Duration
	pattern patterns
	loaded  map[*either.Program]*executor.Loaded
	buffer  [][2]hostBuffer // input and output, by rank
	rows    *data.Rows      // of the last call with rows that is ready
}

// NewHost makes a site of a device; name is how reports call it, and options are
// those of executor.Load.
func NewHost(name string, ranks int, options executor.Options, wait time.Duration) *Host {
	return &Host{name: name, options: options, wait: wait, pattern: patterns{ranks: ranks},
		loaded: map[*either.Program]*executor.Loaded{}, buffer: make([][2]hostBuffer, ranks)}
}

// Name returns the device's.
func (h *Host) Name() string { return h.name }

// Driver returns the device's, if it has one.
func (h *Host) Driver() string { return "" }

// Devices returns where ranks are.
func (h *Host) Devices() []Device {
	list := make([]Device, len(h.buffer))
	host, _ := os.Hostname()
	for r := range list {
		list[r] = Device{Rank: r, PID: os.Getpid(), Host: host, Info: h.name}
	}
	return list
}

// Close frees what was loaded.
func (h *Host) Close() error {
	var errs []error
	for _, l := range h.loaded {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}

// Agree returns err: there is one process.
func (h *Host) Agree(_ context.Context, err error) error { return err }

// Any returns yes: there is one process.
func (h *Host) Any(_ context.Context, yes bool) (bool, error) { return yes, nil }

// A hostBuffer has guard bytes before and after what a call uses of it.
type hostBuffer []byte

// part returns the n bytes of a call, shift bytes after an aligned address.
func (b *hostBuffer) part(n, shift int64) []byte {
	if int64(len(*b)) < n+2*guard+shift {
		*b = make([]byte, n+2*guard+shift)
	}
	return (*b)[guard+shift : guard+shift+n : guard+shift+n]
}

// beside returns the guard bytes before and after n bytes of a call.
func (b hostBuffer) beside(n, shift int64) (before, after []byte) {
	return b[shift : guard+shift], b[guard+shift+n : guard+shift+n+guard]
}

// buffers returns a rank's input and output. In place, memory is what both are in.
func (h *Host) buffers(c *Call, rank int) (memory, input, output []byte) {
	size := int64(c.DType.Size())
	in, out, inAt, outAt, mem := c.Geometry().Buffers(rank)
	b := &h.buffer[rank]
	if c.Coll.Inplace {
		memory = b[0].part(mem*size, c.shift())
		return memory, memory[inAt*size : (inAt+in)*size], memory[outAt*size : (outAt+out)*size]
	}
	return nil, b[0].part(in*size, c.shift()), b[1].part(out*size, c.shift())
}

// Place makes inputs random and all else poison.
func (h *Host) Place(_ context.Context, c *Call, round Round) error {
	if c.Rows != nil {
		round.place(h.rows)
		return nil
	}
	p := h.pattern.of(c, round)
	for r := range h.buffer {
		memory, input, output := h.buffers(c, r)
		parts := [][]byte{memory, input, output}
		if round == First {
			parts = [][]byte{h.buffer[r][0], h.buffer[r][1]}
		}
		for _, part := range parts {
			for j := range part {
				part[j] = poison
			}
		}
		p.Fill(input, r, 0)
	}
	return nil
}

// Check compares outputs with the collective computed directly.
func (h *Host) Check(_ context.Context, c *Call, round Round) (Found, error) {
	var found Found
	if c.Rows != nil {
		return foundIn(h.rows.Check()), nil
	}
	p, size := h.pattern.of(c, round), int64(c.DType.Size())
	for r := range h.buffer {
		memory, input, output := h.buffers(c, r)
		shares, err := c.shares(r)
		if err != nil {
			return found, err
		}
		for _, s := range shares {
			found.share(p, s, 0, output[s.First*size:(s.First+s.Elems)*size])
		}
		lengths := []int{len(input), len(output)}
		if memory != nil {
			lengths = []int{len(memory)}
		}
		for i, n := range lengths {
			if before, after := h.buffer[r][i].beside(int64(n), c.shift()); !poisoned(before, after) {
				found.Outside++
			}
		}
		if memory == nil && p.CheckCopy(input, r, 0) > 0 {
			found.Outside++
		}
	}
	return found, nil
}

// share compares a part of a share, which begins skip elements into it.
func (f *Found) share(p *data.Pattern, s data.Share, skip int64, got []byte) {
	f.Checked += int64(len(got) / p.DType.Size())
	switch {
	case s.Parts != nil:
		parts := slices.Clone(s.Parts)
		for i := range parts {
			parts[i].At += skip
		}
		f.Wrong += p.CheckParts(got, parts)
	case s.Sum:
		f.Wrong += p.CheckSum(got, s.At+skip)
	default:
		f.Wrong += p.CheckCopy(got, s.From, s.At+skip)
	}
}

func poisoned(parts ...[]byte) bool {
	for _, part := range parts {
		for _, b := range part {
			if b != poison {
				return false
			}
		}
	}
	return true
}

// patterns keeps the data that calls are filled with.
type patterns struct {
	ranks int
	most  int64 // elements of the longest input, or 0 where that is not known
	made  map[[3]int]*data.Pattern
}

func (p *patterns) of(c *Call, round Round) *data.Pattern {
	key := [3]int{int(c.DType), int(c.RedOp), int(round)}
	if p.made[key] == nil {
		if p.made == nil {
			p.made = map[[3]int]*data.Pattern{}
		}
		most := cmp.Or(p.most, math.MaxInt64)
		p.made[key] = data.NewPatternFor(most, p.ranks, c.DType, c.RedOp, 1+uint64(round))
	}
	return p.made[key]
}

// A hostOp is a loaded program with the arguments of a call.
type hostOp struct {
	name   string
	loaded *executor.Loaded
	args   executor.Args
}

func (o *hostOp) Name() string { return o.name }
func (o *hostOp) Close() error { return nil } // what is loaded stays for the next size

// Load proves a program and makes it ready to run, once.
func (h *Host) Load(p *either.Program) (*executor.Loaded, error) {
	if l := h.loaded[p]; l != nil {
		return l, nil
	}
	l, err := executor.Load(p, h.options)
	if err == nil {
		h.loaded[p] = l
	}
	return l, err
}

// Ready makes a call ready by a form.
func (h *Host) Ready(_ context.Context, f *Form, c *Call) (Op, error) {
	l, err := h.Load(f.Program)
	if err != nil {
		return nil, err
	}
	o := &hostOp{name: f.Name, loaded: l, args: executor.Args{DType: c.DType, RedOp: c.RedOp, Elems: c.Elems, Wait: h.wait,
		Replicas: f.Choice.Replicas, TileBytes: f.Choice.Tile}}
	if c.Rows != nil {
		if h.rows, err = c.newRows(h.ranks()); err != nil {
			return nil, err
		}
		args := executor.DataRows(h.rows)
		o.args.Input, o.args.Output, o.args.Elems, o.args.Rows = args.Input, args.Output, args.Elems, args.Rows
		return o, nil
	}
	for r := range h.buffer {
		memory, input, output := h.buffers(c, r)
		if memory != nil {
			o.args.Input = append(o.args.Input, memory)
			continue
		}
		o.args.Input, o.args.Output = append(o.args.Input, input), append(o.args.Output, output)
	}
	return o, nil
}

// Once runs an operation once.
func (h *Host) Once(ctx context.Context, op Op) error {
	_, err := h.run(ctx, op)
	return err
}

func (h *Host) run(ctx context.Context, op Op) (time.Duration, error) {
	o, ok := op.(*hostOp)
	if !ok {
		return 0, fmt.Errorf("%s does not run on %s: %w", op.Name(), h.name, executor.ErrNotSupported)
	}
	r, err := o.loaded.Run(ctx, o.args)
	return r.Elapsed, err
}

// Measure runs operations in turn.
func (h *Host) Measure(ctx context.Context, ops []Op, m Measuring, check *Call) ([]Sample, error) {
	samples := make([]Sample, len(ops))
	times := make([][]time.Duration, len(ops))
	for replay := range m.Warmup + m.Replays {
		for i, op := range ops {
			n := max(samples[i].Launches, 1)
			total := time.Duration(0)
			for range n {
				t, err := h.run(ctx, op)
				if err != nil {
					return nil, err
				}
				total += t
			}
			samples[i].Launches = m.launches(total / time.Duration(n))
			if replay >= m.Warmup {
				times[i] = append(times[i], total/time.Duration(n))
			}
		}
	}
	for i, op := range ops {
		samples[i].Time, samples[i].How, samples[i].Each = median(times[i]), "host", times[i]
		samples[i].CPU = samples[i].Time // the host waits for each launch
		if check == nil {
			continue
		}
		var err error
		if samples[i].Found, err = placed(ctx, h, check, Last, func() error { return h.Once(ctx, op) }); err != nil {
			return nil, err
		}
	}
	return samples, nil
}
