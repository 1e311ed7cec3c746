package algorithms_test

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"mscclc"
	"mscclc/codegen"
	programfile "mscclc/codegen/program"
	"mscclc/executor"
	"mscclc/executor/cpu"
	"mscclc/executor/data"
	"mscclc/internal/covering"
	"mscclc/ir"
	"mscclc/lang"
	"mscclc/passes/core"
)

// onesidedRuns is how often a program runs as it is loaded; with many lanes it runs once, but for MATRIX.md.
const onesidedRuns = 5

// TestOneSided compiles every program one-sided, writes and reads it, and runs it
// on the CPU, several times as loaded, over the rows of covering.Rows: with MSCCLC_TESTS=full over all shapes,
// protocols, placements and numbers of lanes, which writes its part of MATRIX.md, and by default over a third of them.
func TestOneSided(t *testing.T) {
	all := programs(t)
	combinations := make([]int, len(all)) // of each program
	t.Cleanup(func() {                    // when all are through
		if !covering.Full() || t.Failed() {
			return
		}
		var table strings.Builder
		tried, total := 0, 0
		_, kept := matrixParts(t)
		for i, n := range combinations {
			row := fmt.Sprintf("| %s | %d | %d |\n", all[i].name, n, onesidedRuns*n)
			if n == 0 { // this run has not tried it
				row = keptRow(kept, all[i].name)
				fmt.Sscanf(row, "| "+all[i].name+" | %d", &n)
			}
			table.WriteString(row)
			tried, total = tried+min(n, 1), total+n
		}
		keepMatrix(t, "", fmt.Sprintf(
			"Made by `MSCCLC_TESTS=full go test -timeout 0 -run 'TestOneSided$' ./algorithms`: each program with 2 to 17 ranks,\n"+
				"each protocol, in place and out of place, and at most 1, 2, 3, 4, 6, 8, 16 and 64 lanes. Each combination is compiled\n"+
				"one-sided, written as a program file, read back and proven. It runs on the CPU %d times, with 1 to 4 replicas, tiles of\n"+
				"16 bytes to 4 KiB, and other types, reductions and sizes each time. Every element is compared.\n\n"+
				"| program | combinations | runs, 0 wrong |\n|---|---|---|\n%s\n%d programs, %d combinations, nothing wrong.\n",
			onesidedRuns, table.String(), tried, total))
	})
	for k := range all {
		p := &all[k]
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			shapes, places := p.legal(t)
			sizes := []int{len(shapes), int(ir.NumProtocols), len(places)}
			if covering.Full() {
				sizes = append(sizes, len(laneCounts))
			}
			rows := covering.Rows(sizes, k)
			if !covering.CI() { // of three programs in a row each has other rows
				rows = slices.DeleteFunc(rows, func(row []int) bool { return (row[0]+k)%3 != 0 })
			}
			combinations[k] = len(rows)
			var g errgroup.Group
			g.SetLimit(runtime.GOMAXPROCS(0))
			for i, r := range rows {
				g.Go(func() error {
					protocol := ir.Protocol(r[1])
					opt := lang.Options{Params: shapes[r[0]], Inplace: &places[r[2]], Protocol: &protocol, Open: p.open}
					lanes := laneCounts[(k+i)%len(laneCounts)]
					if covering.Full() {
						lanes = laneCounts[r[3]]
					}
					if err := p.oneSided(opt, lanes, k+i); err != nil {
						t.Errorf("%v %v in place %v, %d lanes (%d): %v", shapes[r[0]], protocol, places[r[2]], lanes, i,
							err)
					}
					return nil
				})
			}
			g.Wait()
		})
	}
}

// laneCounts are the numbers of lanes, at most, that every program is tried with: in turn over its rows, or each with
// each row of a full run.
var laneCounts = []int{1, 2, 3, 4, 6, 8, 16, core.MostLanes}

// oneSided tries p with lanes; turn picks what it is run with.
func (p *program) oneSided(opt lang.Options, lanes, turn int) error {
	passes := core.Options{Level0: turn%7 == 5, Off: map[string]bool{}, Lanes: lanes}
	if optional := []string{"merge", "drop", "fuse", "group", "join"}; turn%7 == 6 {
		passes.Off[optional[turn/7%len(optional)]] = true
	}
	compiled, err := mscclc.CompileFile(p.tree, mscclc.Options{Lang: opt, OneSided: true, Core: passes, Unproven: true})
	if err != nil {
		return err
	}
	var file bytes.Buffer
	if err := programfile.Write(&file, compiled); err != nil {
		return err
	}
	read, err := programfile.Read(p.file, &file, codegen.ReadOptions{})
	if err != nil {
		return err
	}
	room := executor.Options{Device: cpu.Device(), Replicas: 1 + turn%4, TileBytes: 4 << (turn % 11)}
	if len(read.Blocks) > 32 { // a thread of the host each
		room.Replicas = 1
	}
	room.TileBytes = max(room.TileBytes, 16)
	loaded, err := executor.Load(read, room)
	if err != nil {
		return err
	}
	defer loaded.Close()
	runs := onesidedRuns
	if len(read.Blocks) > 32 && !covering.Full() {
		runs = 1
	}
	for k := range runs {
		if err := runOneSided(loaded, read.Coll, room.Replicas, turn+7*k); err != nil {
			return fmt.Errorf("run %d: %v", k, err)
		}
	}
	return nil
}

// runOneSided runs one call.
func runOneSided(loaded *executor.Loaded, c *ir.Collective, replicas, turn int) error {
	op := data.RedOp(turn / 3 % int(data.NumRedOps))
	if op == data.Avg && c.Kind == ir.Custom {
		op = data.Sum
	}
	err := runOneSidedOp(loaded, c, replicas, turn, op)
	if unscaled(op, err) {
		err = runOneSidedOp(loaded, c, replicas, turn, data.Sum)
	}
	return err
}

func runOneSidedOp(loaded *executor.Loaded, c *ir.Collective, replicas, turn int, op data.RedOp) error {
	t := data.DType(turn % int(data.NumDTypes))
	chunks := int64(max(c.Chunks, 1))
	elems := chunks * []int64{0, 1, 7, 40, 333, 2000}[turn%6]
	if !loaded.Even() {
		elems += int64(turn) % (chunks + 3)
	}
	buffers := data.New(data.NewGeometry(c, elems, t.Size()), t, op, uint64(turn))
	args := executor.DataArgs(buffers)
	args.Threads, args.Wait, args.Replicas = 1, time.Minute, 1+turn%replicas
	// Threads of the host take turns at each barrier: with one call in four, however many, they took most of this test.
	blocks := len(loaded.Program().Blocks) * args.Replicas
	if covering.Full() && turn%4 == 0 || turn%13 == 4 && blocks <= 24 {
		args.PerBlock = 2
	}
	if _, err := loaded.Run(context.Background(), args); err != nil {
		return err
	}
	found := buffers.Check()
	if err := found.Err(); err != nil {
		return fmt.Errorf("%v %v, %d elements: %v", t, op, elems, err)
	}
	if elems > chunks && found.Checked == 0 {
		return fmt.Errorf("%d elements, and nothing was compared", elems)
	}
	return nil
}
