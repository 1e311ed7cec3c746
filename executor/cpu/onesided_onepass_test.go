//go:build cgo

package cpu

import (
	"errors"
	"testing"

	"mscclc/executor"
	"mscclc/executor/data"
	"mscclc/ir/diag"
	"mscclc/ir/irtest/parse"
)

// onePass is an allreduce of two ranks, in two blocks each, as channel-level programs are: launches of one pass,
// signals and awaits that are joint with what stands before them, and relaxed ones where launches begin.
const onePass = `program onepass
collective allreduce ranks=2 chunks=2 inplace
scratch 1
even
onesided depth 1 onepass
flags 3
block 0.0
  0 signal 1:flags[0] relaxed
  1 wait flags[0] x1 joint relaxed
  2 mv 1:input[0] -> scratch[0]
  3 mv scratch[0] + input[0] -> input[0] 1:input[0]
  4 signal 1:flags[0]
  5 wait flags[0] x2 joint
block 0.1
  0 signal 1:flags[1]
  1 wait flags[1] x1
  2 mv input[1] -> 1:scratch[0]
  3 signal 1:flags[1]
  4 wait flags[1] x2 joint
  5 signal 1:flags[2] joint
  6 wait flags[2] x1 joint
block 1.0
  0 signal 0:flags[0] relaxed
  1 wait flags[0] x1 joint relaxed
  2 signal 0:flags[0]
  3 wait flags[0] x2 joint
block 1.1
  0 signal 0:flags[1]
  1 wait flags[1] x1
  2 signal 0:flags[1]
  3 wait flags[1] x2 joint
  4 mv scratch[0] + input[1] -> input[1] 0:input[1]
  5 signal 0:flags[2]
  6 wait flags[2] x1 joint
`

// Such a program is proven, and runs with one pass whatever a tile is, as long as memory is there.
func TestOnePass(t *testing.T) {
	p, err := parse.Program("onepass", []byte(onePass))
	if err != nil {
		t.Fatal(err)
	}
	for _, room := range []executor.Options{{}, {Replicas: 3, TileBytes: 4096}} {
		l := loadOne(t, p, room)
		for _, elems := range []int64{0, 2, 34, 1000, 2 * 3 * 1024} {
			for replicas := range 4 {
				if replicas > 0 && replicas < 3 && elems > 1000 && room.TileBytes > 0 {
					continue
				}
				check(t, l, p.Coll, data.I32, data.Sum, elems,
					func(a *executor.Args) { a.Replicas, a.TileBytes, a.PerBlock = replicas, 64, replicas })
			}
		}
	}
	l := loadOne(t, p, executor.Options{Replicas: 3, TileBytes: 4096})
	geo := data.NewGeometry(p.Coll, 8*3*1024, 4)
	buffers := data.New(geo, data.I32, data.Sum, 1)
	var list diag.List
	if _, err := l.Run(t.Context(), executor.DataArgs(buffers)); !errors.As(err, &list) || list[0].Code != diag.Limit {
		t.Errorf("chunks that are too long give %v", err)
	}
}
