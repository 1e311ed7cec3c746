package gputest

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"regexp"
	"strings"
	"testing"
	"time"

	"mscclc"
	"mscclc/algorithms"
	"mscclc/executor"
	"mscclc/executor/abi"
	"mscclc/executor/data"
	"mscclc/executor/plan"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/lang"
	"mscclc/passes/core"
)

// epilogues are what rows are finished by in tests: each kind of stage, and lists of several.
var epilogues = []string{"residual, rms_norm(eps)", "scale", "bias", "layer_norm(eps)", "activation(relu)",
	"activation(gelu), cast(f32)", "quantise(e4m3)", "bias, activation(silu), quantise(i8, block = 32)",
	"residual, rms_norm(eps), quantise(e4m3, block = 128)", "rms_norm(eps), scale, bias, residual, cast(bf16)",
	"layer_norm(eps), quantise(e5m2, block = 5)", "cast(f16)", "residual, layer_norm(eps), quantise(i8)",
	"residual, rms_norm(eps), quantise(e4m3)"}

var thenIs = regexp.MustCompile(`\.then\(([^()]|\([^()]*\))*\)`)

// rowProgram compiles a program of algorithms/rows with another epilogue or none, and proves it. In apart, which is
// before, Moves of their own copy finished rows.
func rowProgram(name, then string, ranks int, proto ir.Protocol) (*either.Program, error) {
	var opt core.Options
	if name == "apart" {
		name, opt.Off = "before", map[string]bool{"fuse": true}
	}
	text, err := algorithms.Open("rows/" + name)
	if err != nil {
		return nil, err
	}
	if then != "" {
		then = ".then(" + then + ")"
	}
	with := thenIs.ReplaceAllString(string(text), then)
	return mscclc.Compile(name, []byte(with), mscclc.Options{OneSided: true, Core: opt,
		Lang: lang.Options{Params: lang.Params{"ranks": ranks}, Protocol: &proto, Open: algorithms.Open}})
}

// A rowJob is a call of a program with an epilogue, with its memory on the GPUs.
type rowJob struct {
	job
	rows    *data.Rows
	buffers []rowBuffer
}

// A rowBuffer is memory of a rank, as the host has it and on its GPU.
type rowBuffer struct {
	rank          int
	host          []byte
	base, address uint64 // of all of it, and of what the call has
}

// bindRows makes the memory of a call of `elems` rows, and binds it. All memory lies skew elements from an alignment.
func (r *rig) bindRows(ctx context.Context, rows *data.Rows, skew int, set func(*plan.CallArgs)) (*rowJob, error) {
	j := &rowJob{job: job{rig: r}, rows: rows}
	buffer := func(rank int, host []byte, size int) uint64 {
		if host == nil {
			return 0
		}
		at, err := r.memory.alloc(r.plan.GPU(rank), int64(max(len(host), 1)+skew*size))
		if err != nil {
			panic(err)
		}
		j.buffers = append(j.buffers, rowBuffer{rank, host, at, at + uint64(skew*size)})
		return at + uint64(skew*size)
	}
	size, args := rows.DType.Size(), executor.DataRows(rows)
	call := plan.CallArgs{DType: rows.DType, RedOp: data.Sum, Elems: rows.RowGeo.Elems,
		Rows: &plan.RowArgs{Length: rows.Length, Values: rows.Values}}
	for _, rank := range r.plan.Ranks() {
		call.Input = append(call.Input, buffer(rank, args.Input[rank], size))
		call.Output = append(call.Output, buffer(rank, args.Output[rank], rows.Out.Size()))
		var m abi.RowMemory
		for i := range rows.Then {
			m.First[i] = buffer(rank, args.Rows.Ranks[rank].First[i], size)
			if m.Second[i] = m.First[i]; !same(args.Rows.Ranks[rank].First[i], args.Rows.Ranks[rank].Second[i]) {
				m.Second[i] = buffer(rank, args.Rows.Ranks[rank].Second[i], 4)
			}
		}
		call.Rows.Memory = append(call.Rows.Memory, m)
	}
	if set != nil {
		set(&call)
	}
	var err error
	if j.call, err = r.plan.Bind(ctx, call); err != nil {
		return nil, errors.Join(err, j.close())
	}
	j.job.skew = uint64(skew)
	return j, nil
}

// same reports whether two buffers are one.
func same(a, b []byte) bool { return len(a) > 0 && len(b) > 0 && &a[0] == &b[0] }

func (j *rowJob) close() (err error) {
	if j.call != nil {
		err = j.call.Close()
	}
	for _, b := range j.buffers {
		err = errors.Join(err, j.rig.memory.free(j.rig.plan.GPU(b.rank), b.base))
	}
	return err
}

// fill puts the data on the GPUs, and compare takes it from there, and compares all that was written.
func (j *rowJob) fill() error {
	j.rows.Reset()
	return j.each(func(s executor.Stream, b rowBuffer) error { return s.Put(b.address, b.host) })
}

func (j *rowJob) compare() error {
	if err := j.each(func(s executor.Stream, b rowBuffer) error { return s.Get(b.host, b.address) }); err != nil {
		return err
	}
	rep := j.rows.CheckRanks(j.rig.plan.Ranks())
	if rep.Err() == nil && rep.Checked == 0 && j.rows.RowGeo.Elems > 0 {
		return errNothing
	}
	return rep.Err()
}

func (j *rowJob) each(do func(s executor.Stream, b rowBuffer) error) error {
	for _, b := range j.buffers {
		if err := do(j.rig.stream(b.rank), b); err != nil {
			return err
		}
	}
	return nil
}

// newRows makes the data of a call of `rows` rows.
func newRows(p *either.Program, dt data.DType, rows int64, length int, seed uint64) *data.Rows {
	return data.NewRows(data.NewGeometry(p.Coll, rows, length*dt.Size()), p.Then, length, dt, seed)
}

// testRows runs programs with an epilogue at lengths that are whole units and odd, of several rows and tiles, in eager
// launches and in graphs.
func testRows(t *testing.T, d Device) {
	lengths := []int{8, 24, 1000, 8192, 77, 1, 128, 4096}
	for n, then := range epilogues {
		for i, name := range []string{"onestep", "after", []string{"before", "apart", "before"}[n%3]} {
			for k, proto := range []ir.Protocol{ir.Simple, ir.LL, ir.LL128} {
				ranks := 1 + (n+i+k)%4
				turn := n*9 + i*3 + k
				if !d.takes(turn + n) {
					continue
				}
				rnd := rand.New(rand.NewSource(int64(turn)))
				t.Run(fmt.Sprintf("%s of %d ranks, %v, then %s", name, ranks, proto, then), func(t *testing.T) {
					p, err := rowProgram(name, then, ranks, proto)
					if err != nil {
						t.Fatal(err)
					}
					rowsOf(t, d, p, lengths, rnd)
				})
			}
		}
	}
}

// rowsOf runs calls of a program.
func rowsOf(t *testing.T, d Device, p *either.Program, lengths []int, rnd *rand.Rand) {
	const tile = 64 << 10
	types := []data.DType{data.BF16, data.F16, data.F32}
	r := mustRig(t, d, p, plan.Options{GPUs: d.Open(numbers()...), Replicas: 3, TileBytes: tile, Types: types})
	if err := r.plan.SetWait(5 * time.Second); err != nil {
		t.Fatal(err)
	}
	for at, length := range lengths {
		dt := types[rnd.Intn(len(types))]
		if length == 8192 {
			dt = types[rnd.Intn(2)] // the mock driver has no more threads
		}
		count := int64(1 + rnd.Intn(9))
		rows := newRows(p, dt, count, length, uint64(at)+rnd.Uint64())
		graph := at%4 == 0
		if rnd.Intn(2) == 0 && !graph { // a graph has two launches, and the second would add to what the first left
			rows.InPlace()
		}
		skew := rnd.Intn(2) * rnd.Intn(3)
		set := func(a *plan.CallArgs) {
			a.Replicas, a.TileBytes = []int{0, 1, 3}[at%3], int64(length*dt.Size()*(1+rnd.Intn(3)))
		}
		j, err := r.bindRows(soon(t), rows, skew, set)
		if err == nil {
			err = j.twice(t, graph)
		}
		if err != nil {
			t.Fatalf("%v, %d rows of %d elements, skew %d: %v", dt, count, length, skew, err)
		}
		if err := j.close(); err != nil {
			t.Fatal(err)
		}
	}
}

// twice runs a call twice, in one launch each or by a graph, and compares what the second wrote.
func (j *rowJob) twice(t *testing.T, graph bool) error {
	var graphs []executor.Graph
	if graph {
		graphs = j.captured(t, 2)
	}
	for range 2 {
		if err := j.fill(); err != nil {
			return err
		}
		launch := j.launch
		if graph {
			launch = func() error { return j.replay(graphs) }
		}
		if err := errors.Join(launch(), j.rig.plan.Wait(soon(t))); err != nil {
			return err
		}
	}
	return j.compare()
}

// testRowsRefused sees that what GPUs do not run is an error that says so.
func testRowsRefused(t *testing.T, d Device) {
	const alone = `algorithm alone(ranks = 2)
collective allreduce(ranks)
scratch total[1]
for r in 0..ranks {
    let sum = reduce([chunk(peer, input, r) for peer in 0..ranks], r, total, 0).then(residual, rms_norm(eps))
    let done = sum.copy((r + 1) % ranks, output, r)
    done.copy(r, output, r)
}
`
	p, err := mscclc.Compile("alone", []byte(alone), mscclc.Options{OneSided: true,
		Core: core.Options{Off: map[string]bool{"fuse": true}}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = newRig(t.Context(), d, p, plan.Options{GPUs: d.Open(numbers()...), Unproven: true})
	if !errors.Is(err, executor.ErrNotSupported) || !strings.Contains(fmt.Sprint(err), "another rank's output alone") {
		t.Errorf("rows of another rank's output alone: %v", err)
	}
	if p, err = rowProgram("onestep", "residual, rms_norm(eps)", 2, ir.LL); err != nil {
		t.Fatal(err)
	}
	r := mustRig(t, d, p, plan.Options{GPUs: d.Open(numbers()...), Replicas: 1, TileBytes: 1 << 20})
	for _, c := range []struct {
		want   string
		length int
		set    func(*plan.CallArgs)
	}{
		{"must say its rows", 8, func(a *plan.CallArgs) { a.Rows = nil }},
		{"rows that need blocks of 1024 threads", 40000, nil},
		{"rows that need blocks of 256 threads, and these have 64", 8192, func(a *plan.CallArgs) { a.Threads = 64 }},
		{"0 elements is out of range", 8, func(a *plan.CallArgs) { a.Rows.Length = 0 }},
		{"2 stages have 1 values", 8, func(a *plan.CallArgs) { a.Rows.Values = a.Rows.Values[:1] }},
		{"the first operand of residual", 8, func(a *plan.CallArgs) { a.Rows.Memory[1].First[0] = 0 }},
		{"the second operand of rms_norm", 8, func(a *plan.CallArgs) { a.Rows.Memory[0].Second[1] = a.Input[0] }},
		{"epilogue", 8, func(a *plan.CallArgs) { a.RedOp = data.Max }},
		{"f16, bf16 or f32", 8, func(a *plan.CallArgs) { a.DType = data.I32 }},
		{"neither traced", 8, func(a *plan.CallArgs) { a.Trace = &executor.Trace{} }},
	} {
		j, err := r.bindRows(t.Context(), newRows(p, data.BF16, 3, c.length, 1), 0, c.set)
		if err == nil {
			err = j.close()
			t.Errorf("no error that says: %s (%v)", c.want, err)
		} else if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, which does not say: %s", err, c.want)
		}
	}
}

// testRowsLate has one rank wait for rows that do not come: it says so in time, and after Reset the call runs again.
func testRowsLate(t *testing.T, d Device) {
	for _, proto := range []ir.Protocol{ir.LL, ir.Simple, ir.LL128} {
		p, err := rowProgram("onestep", "residual, rms_norm(eps), quantise(e4m3)", 2, proto)
		if err != nil {
			t.Fatal(err)
		}
		r := mustRig(t, d, p, plan.Options{GPUs: d.Open(numbers()...), Unproven: true, Types: []data.DType{data.BF16}})
		r.needsTwo(t)
		j, err := r.bindRows(soon(t), newRows(p, data.BF16, 3, 1024, 1), 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := errors.Join(j.twice(t, false), r.plan.SetWait(30*time.Millisecond), j.fill(),
				j.call.Launch(r.streams[0])); err != nil {
				t.Fatal(err)
			}
			timedOut(t, r.plan.Wait(soon(t)), "rank 0 block", "waited", "from rank 1")
			if err := errors.Join(r.plan.Reset(t.Context()), r.plan.SetWait(time.Minute)); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(j.twice(t, false), j.close()); err != nil {
			t.Errorf("%v: %v", proto, err)
		}
	}
}
