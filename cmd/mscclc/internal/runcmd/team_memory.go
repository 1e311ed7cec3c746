package runcmd

import (
	"mscclc/executor"
	"mscclc/executor/abi"
	"mscclc/executor/data"
	"mscclc/executor/plan"
	"mscclc/ir/either"
)

// This file is the memory of a run in several processes.

// tile returns how long the tiles of a program are to be: they have a row at least.
func (t *team) tile(p *either.Program, f *runFlags, dtype data.DType) (int64, error) {
	if f.row == 0 {
		return tileFor(p, f.Size, 0), nil
	}
	row := abi.RowBytes(dtype, f.row)
	return abi.RowTile(max(tileFor(p, f.Size, row), executor.UsualWidth(t.gpus).Tile), row)
}

// memoryOf returns the memory of a rank: input, output, and by stage of an epilogue the first operand and the second.
// What there is not is nil.
func memoryOf(args *executor.Args, rank int) [][]byte {
	list := [][]byte{args.Input[rank], nil}
	if args.Output != nil {
		list[1] = args.Output[rank]
	}
	if args.Rows != nil {
		m := args.Rows.Ranks[rank]
		for i := range m.First {
			list = append(list, m.First[i], m.Second[i])
		}
	}
	return list
}

// place sees to memory on the GPUs, and puts the buffers there.
func (l *teamed) place(args *executor.Args, own *plan.CallArgs) error {
	if args.Rows != nil {
		own.Rows = &plan.RowArgs{Length: args.Rows.Length, Values: args.Rows.Values}
	}
	for _, r := range l.plan.Ranks() {
		list := memoryOf(args, r)
		at := make([]uint64, len(list))
		for k, host := range list {
			if host == nil {
				continue
			}
			b, err := l.buffer([2]int{r, k}, len(host))
			if err != nil {
				return err
			}
			at[k] = b.address
		}
		own.Input = append(own.Input, at[0])
		if args.Output != nil {
			own.Output = append(own.Output, at[1])
		}
		if own.Rows != nil {
			var m abi.RowMemory
			for k := range at[2:] {
				if i := k / 2; k%2 == 0 {
					m.First[i] = at[2+k]
				} else {
					m.Second[i] = at[2+k]
				}
			}
			own.Rows.Memory = append(own.Rows.Memory, m)
		}
	}
	return l.each(args, func(s executor.Stream, host []byte, address uint64) error { return s.Put(address, host) })
}

// buffer returns a buffer of some bytes at least.
func (l *teamed) buffer(key [2]int, bytes int) (teamBuffer, error) {
	b, gpu := l.memory[key], l.plan.GPU(key[0])
	if b.bytes >= bytes && b.address != 0 {
		return b, nil
	}
	if b.address != 0 {
		if err := gpu.Free(b.address); err != nil {
			return b, err
		}
	}
	delete(l.memory, key)
	var err error
	if b.address, err = gpu.Alloc(int64(max(bytes, 1))); err != nil {
		return b, err
	}
	b.bytes = bytes
	l.memory[key] = b
	return b, nil
}

// each copies all buffers of this process one way.
func (l *teamed) each(args *executor.Args, one func(s executor.Stream, host []byte, address uint64) error) error {
	for key, b := range l.memory {
		host := memoryOf(args, key[0])[key[1]]
		if host == nil {
			continue
		}
		for i, g := range l.plan.GPUs() {
			if g != l.plan.GPU(key[0]) {
				continue
			}
			if err := one(l.streams[i], host, b.address); err != nil {
				return err
			}
		}
	}
	return nil
}
