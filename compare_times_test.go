package mscclc_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mscclc/executor/data"
	"mscclc/ir/either"
	"mscclc/ir/irtest"
	"mscclc/simulate"
	"mscclc/simulate/devices"
	"mscclc/topology"
)

// Why a program of ours takes over 5 % longer than the file in simulation.
const (
	ownBlocks = "The file sends and receives in thread blocks of their own. " +
		"Ours do both by turns in half the blocks; `recvtb` sets them apart."
	ownChannels = "The file puts chunks or phases on channels of their own by hand, so that fewer share a block. " +
		"`ch` asks for that."
	finer    = "The file cuts chunks finer, so that all blocks share the sums."
	oneRound = "The file's nodes exchange whole sums: one round over the network, of twice the bytes, instead of two."
)

// slower says which of these it is, by file.
var slower = map[string]string{
	"a2a_allpairs_2g_i1_Simple":             ownBlocks,
	"a2a_allpairs_8g_i1_LL":                 ownBlocks,
	"a2a_threestep_3x2_i1_ib1":              ownChannels,
	"a2a_twostep_2x4_LL":                    ownChannels,
	"a2next_bwd_2n_i1":                      ownBlocks,
	"ag_pcie_4g_i1_LL128":                   ownBlocks,
	"ag_simplering_4g":                      ownChannels,
	"ar_1step_4g_i1_LL":                     finer,
	"ar_allpairs_4g_i1_LL":                  finer,
	"ar_allpairs_8g_i1_LL":                  finer,
	"ar_hier_4x2_i1_Simple_auto":            ownChannels,
	"ar_hier_4x4_i1_LL_manual":              ownChannels,
	"ar_multinode_allpairs_4x2_i1_LL":       oneRound,
	"ar_ncv4_4g_i1_LL":                      ownChannels,
	"ar_ncv4v2_4g_i4_Simple":                ownBlocks,
	"rs_allpairs_8g_i1_LL":                  ownBlocks,
	"rs_ring_8g_i4_Simple":                  ownChannels,
	"rs_ringoop_4g_i1_LL":                   ownChannels,
	"rccl-allreduce-allpairs-8n-ll-32tb":    finer,
	"rccl-allreduce-allpairs-8n-ll-64tb-op": finer,
	"rccl-allreduce-allpairs-8n-simple":     finer,
	"rccl-alltoall-8n-0-9kb":                ownBlocks,
	"rccl-alltoall-8n-512kb-7mb":            ownBlocks,
}

// compareSizes are the bytes of the calls that are simulated, where the file is for them.
var compareSizes = []int64{4 << 10, 64 << 10, 256 << 10, 1 << 20, 16 << 20, 64 << 20}

// TestCompare simulates our programs and the files of other compilers, with their blocks and steps, and keeps the table
// in testdata/COMPARE.md. Both have the same algorithm, protocol and instances. Ours must take at most 5 % longer, or
// slower says why.
func TestCompare(t *testing.T) {
	dir := irtest.Others(t, irtest.XML) // skips where they are not there
	checkRivals(t)
	var b, why strings.Builder
	b.WriteString(`# Our programs beside other compilers' files

Thread blocks and steps of all ranks, nops included, of the files with verdict ok that MSCCLang and RCCL's authors made, and
of the same algorithm compiled by mscclc with the same protocol, instances and placement. It is compiled for the file's range
of sizes (MSCCL's default is below 128 MiB), and to be live at every size. Time is that of ours divided by the file's,
simulated on H200s with 8 GPUs a node at 4K, 64K, 256K, 1M, 16M and 64M as far as the file is for them: the least and the most.
Where the file has at least twice as many blocks, the last column is the most with that multiple of the instances, which makes no
more blocks than the file has. Made by TestCompare (` + "`MSCCLC_UPDATE=1`" + ` writes it).

| file | program | blocks | steps | ours, blocks | steps | every size, blocks | steps | ` +
		`chunks, file | ours | time, least | most | every size, most | as many blocks, most |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
`)
	for i := range rivals {
		r := &rivals[i]
		ours, err := compileRival(r, r.sizes, r.target())
		if err != nil {
			t.Fatalf("%s: %v", r.file, err)
		}
		always, err := compileRival(r, "", "program")
		if err != nil {
			t.Fatalf("%s: %v", r.file, err)
		}
		theirs, err := readMSCCL(filepath.Join(dir, r.file+".xml"))
		if err != nil {
			t.Fatal(err)
		}
		theirs.RanksPerNode = ours.RanksPerNode // which XML does not say
		least, most, at := timesOf(t, ours, theirs)
		_, mostAlways, _ := timesOf(t, always, theirs)
		wide := "-"
		if k := r.blocks / len(ours.Blocks); k > 1 {
			more := *r
			more.instances *= k
			p, err := compileRival(&more, r.sizes, r.target())
			if err != nil {
				t.Fatalf("%s: %v", r.file, err)
			}
			_, most, _ := timesOf(t, p, theirs)
			wide = fmt.Sprintf("%.2f", most)
		}
		if most > 1.05 != (slower[r.file] != "") {
			t.Errorf("%s: %s takes %.2f times as long as the file at %d bytes, and a reason: %q",
				r.file, r.program, most, at, slower[r.file])
		}
		if reason := slower[r.file]; reason != "" {
			fmt.Fprintf(&why, "| %s | %d | %s |\n", r.file, at, reason)
		}
		fmt.Fprintf(&b, "| %s | %s %s | %d | %d | %d | %d | %d | %d | %d | %d | %.2f | %.2f | %.2f | %s |\n",
			r.file, r.program, r.params, r.blocks, r.steps, len(ours.Blocks), len(ours.Steps), len(always.Blocks),
			len(always.Steps),
			theirs.Coll.Divisor(), ours.Coll.Divisor(), least, most, mostAlways, wide)
	}
	if why.Len() > 0 {
		b.WriteString("\nWhy some take over 5 % longer:\n\n| file | bytes | why |\n|---|---|---|\n" + why.String())
	}
	const table = "testdata/COMPARE.md"
	if update && !t.Failed() {
		if err := os.WriteFile(table, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	if string(kept) != b.String() && !t.Failed() {
		t.Errorf("%s is not what the compiler does now; MSCCLC_UPDATE=1 writes it", table)
	}
}

// timesOf returns how long ours takes in simulation, as a part of what theirs takes: the least, the most, and where
// that is.
func timesOf(t *testing.T, ours, theirs *either.Program) (least, most float64, at int64) {
	t.Helper()
	spec := "h200"
	if n := ours.RanksPerNode; n > 0 && ours.Coll.Ranks > n {
		spec = fmt.Sprintf("h200:nodes=%d", ours.Coll.Ranks/n)
	} else if ours.Coll.Ranks > 8 {
		spec = fmt.Sprintf("h200:nodes=%d", (ours.Coll.Ranks+7)/8)
	}
	topo, err := topology.Open(spec)
	if err != nil {
		t.Fatal(err)
	}
	costs, err := devices.CostsOf(topo.Device)
	if err != nil {
		t.Fatal(err)
	}
	micros := func(p *either.Program, bytes int64) float64 {
		r, err := simulate.Run(p, topo, costs, simulate.Call{Bytes: bytes, DType: data.BF16})
		if err != nil {
			t.Fatal(err)
		}
		return r.Micros
	}
	for _, bytes := range compareSizes {
		if !theirs.Sizes.Holds(bytes) {
			continue
		}
		r := micros(ours, bytes) / micros(theirs, bytes)
		if least == 0 || r < least {
			least = r
		}
		if r > most {
			most, at = r, bytes
		}
	}
	return least, most, at
}
