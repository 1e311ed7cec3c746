package verify_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"os"
	"slices"
	"strings"
	"testing"

	"mscclc"
	"mscclc/algorithms"
	"mscclc/internal/covering"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/irtest"
	"mscclc/ir/verify/explore/onesided"
	"mscclc/lang"
	"mscclc/lang/syntax"
)

// smallAccesses bounds the chunks that a pass of an original accesses, so that
// its runs take milliseconds.
const smallAccesses = 90

// loweredCatalog compiles every algorithm for its shapes of 2 to 4 ranks, in
// protocols, as far as one pass is small, with what set does to the options.
func loweredCatalog(t *testing.T, set func(*mscclc.Options), protocols ...ir.Protocol) (all []original) {
	for _, name := range algorithms.Names() {
		src, err := algorithms.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := syntax.Parse(name, src)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range f.Stmts {
			a, ok := s.(*syntax.Algorithm)
			if !ok {
				continue
			}
			var params []string
			for _, p := range a.Params {
				params = append(params, p.Name)
			}
			for _, shape := range shapes(params) {
				for _, protocol := range protocols {
					var opt mscclc.Options
					opt.Lang = lang.Options{Params: shape, Open: algorithms.Open, Protocol: &protocol}
					set(&opt)
					p, err := mscclc.Compile(name, src, opt)
					// It may be for powers of two, or through the switch, or have an epilogue where two-sided steps are wanted.
					if list := (diag.List{}); errors.As(err, &list) && slices.Contains([]diag.Code{diag.AssertFailed,
						diag.Unsupported, diag.Hint}, list[0].Code) {
						continue
					}
					if err != nil {
						t.Fatalf("%s %v: %v", name, shape, err)
					}
					if accesses(p) <= smallAccesses {
						p.Source = nil // changes move steps
						all = append(all, original{fmt.Sprintf("%s %d ranks %v", name, p.Coll.Ranks, protocol), neutral(p), nil})
					}
				}
			}
		}
	}
	return all
}

func accesses(p *either.Program) (n int) {
	for i := range p.Steps {
		s := &p.Steps[i]
		n += int(max(s.Count, 1)) * int(s.NSrc+s.NDst)
	}
	return n
}

// Single changes of what the lowering makes are rejected, unless runs of what
// comes out show nothing: the verdicts of both are the same. It changes half of the
// programs, and with MSCCLC_TESTS=ci all. MSCCLC_RANDOM=N tries N of each program, and
// with MSCCLC_UPDATE=1 writes its part of MUTATIONS_ONESIDED.md.
func TestOneSidedMutations(t *testing.T) {
	all, each := loweredCatalog(t, func(o *mscclc.Options) { o.OneSided = true }, ir.Simple, ir.LL), irtest.Count(t, 1)
	if !writesMutations() {
		all = oneIn(all, 2)
	}
	counts, table := tryMutations(t, all, each)
	t.Logf("%d programs", len(all))
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%6d %s", counts[k], k)
	}
	if len(all) < 20 || counts["rejected"] < len(all)*each/4 || counts["accepted"] < len(all)*each/20 {
		t.Error("too few were judged to say anything")
	}
	if writesMutations() && !t.Failed() {
		_, lanes := mutationParts(t)
		keepMutations(t, fmt.Sprintf(oneSidedMutationsHead, each, len(all), each)+mutationRows(table), lanes)
	}
}

// oneIn returns one in so many programs, and with MSCCLC_TESTS=ci all.
func oneIn(all []original, period int) (some []original) {
	for k, o := range all {
		if covering.OneIn(k, period) {
			some = append(some, o)
		}
	}
	return some
}

// writesMutations reports whether a run is to write its part of MUTATIONS_ONESIDED.md.
func writesMutations() bool {
	return os.Getenv("MSCCLC_UPDATE") != "" && os.Getenv("MSCCLC_RANDOM") != ""
}

// staged asks for the programs of bundles.
func staged(o *mscclc.Options) { o.OneSided, o.Core.Staged = true, true }

// TestMutationsOverNodes is TestOneSidedMutations of some programs that were two-sided, with two nodes or one for each
// rank.
func TestMutationsOverNodes(t *testing.T) {
	var some []original
	for k, o := range loweredCatalog(t, func(o *mscclc.Options) { o.Lowered = true }, ir.Simple) {
		if k%3 > 0 {
			continue
		}
		o.node = make([]int32, o.p.Coll.Ranks)
		for rank := range o.node {
			if o.node[rank] = int32(rank); k%2 > 0 {
				o.node[rank] = int32(rank % 2)
			}
		}
		some = append(some, o)
	}
	counts, _ := tryMutations(t, some, irtest.Count(t, 2))
	t.Logf("%d programs: %v", len(some), counts)
	if len(some) < 10 || counts["rejected"] < len(some)/2 {
		t.Error("too few were judged to say anything")
	}
}

// TestStagedMutations is TestOneSidedMutations of some staged programs.
func TestStagedMutations(t *testing.T) {
	var some []original
	for k, o := range loweredCatalog(t, staged, ir.Simple, ir.LL) {
		if k%3 == 0 {
			some = append(some, o)
		}
	}
	counts, _ := tryMutations(t, some, irtest.Count(t, 1))
	t.Logf("%d programs: %v", len(some), counts)
	if len(some) < 20 || counts["rejected"] < len(some)/4 {
		t.Error("too few were judged to say anything")
	}
}

// TestLaneMutations is TestOneSidedMutations of some programs whose ranks have two to four lanes. The explorer runs the
// copies of a rank's blocks in all orders, and so judges signals between lanes and credits between them too. With
// MSCCLC_UPDATE=1 and MSCCLC_RANDOM=N it tries all programs, and writes its part of MUTATIONS_ONESIDED.md.
func TestLaneMutations(t *testing.T) {
	var some []original
	for lanes := 2; lanes <= 4; lanes++ {
		set := func(o *mscclc.Options) { o.OneSided, o.Core.Lanes = true, lanes }
		for k, o := range loweredCatalog(t, set, ir.Simple, ir.LL) {
			if (k%4 == lanes-2 || writesMutations()) && len(o.p.Blocks) > len(o.p.Rank) {
				some = append(some, o)
			}
		}
	}
	if !writesMutations() {
		some = oneIn(some, 2)
	}
	each := irtest.Count(t, 1)
	counts, table := tryMutations(t, some, each)
	t.Logf("%d programs: %v", len(some), counts)
	if len(some) < 20 || counts["rejected"] < len(some)/4 {
		t.Error("too few were judged to say anything")
	}
	if writesMutations() && !t.Failed() {
		plain, _ := mutationParts(t)
		keepMutations(t, plain, fmt.Sprintf(laneMutationsHead, each, len(some), each)+mutationRows(table))
	}
}

// tryMutations changes each program so often, and compares what is said of it. It counts the verdicts, and by change
// what was tried, no program, harmful and caught.
func tryMutations(t *testing.T, all []original, each int) (counts map[string]int, table map[string]*[4]int) {
	t.Helper()
	counts, table = map[string]int{}, map[string]*[4]int{}
	for k, o := range all {
		rnd := rand.New(rand.NewSource(int64(k)))
		if j, err := compareOneSided(o.p, o.node, rnd); err != nil || len(j.codes) > 0 {
			t.Fatalf("%s: %v, %v", o.name, j.codes, err)
		}
		for range each {
			change := &onesided.Mutations[rnd.Intn(len(onesided.Mutations))]
			p, ok := change.Change(rnd, o.p.OneSided)
			if !ok || accesses(either.OfOneSided(p)) == 0 {
				continue
			}
			j, err := compareOneSided(either.OfOneSided(p), o.node, rnd)
			row := table[change.Name]
			if row == nil {
				row = new([4]int)
				table[change.Name] = row
			}
			row[0]++
			if j.excluded != "" {
				row[1]++
			} else if err == nil && !j.verdict.Good() {
				row[2]++
				row[3] += min(len(j.codes), 1)
			}
			switch {
			case err != nil:
				t.Fatalf("%s, %s: %s", o.name, change.Name, explainOneSided(either.OfOneSided(p), o.node, err))
			case j.excluded != "":
				counts["excluded: "+j.excluded]++
			case len(j.codes) == 0:
				counts["accepted"]++
				counts["accepted: "+change.Name]++
			default:
				counts["rejected"]++
				counts["rejected: "+strings.Join(j.codes, "+")]++
			}
		}
	}
	return counts, table
}

const oneSidedMutationsHead = "# Single faults of one-sided programs, and whether verify catches them\n\n" +
	"Written by `MSCCLC_UPDATE=1 MSCCLC_RANDOM=%d go test ./ir/verify -run TestOneSidedMutations -timeout 1h`: %d programs\n" +
	"that the compiler makes of the catalog, at 2 to 4 ranks, each changed once, %d times.\n\n" +
	"* *No program*: refused for its form, or a flag or packets that nobody gives or takes, or too large to run in all ways.\n" +
	"* *Harmful*: a run of the explorer, whose memory is weak, deadlocks, races, reads what nothing wrote or ends wrong.\n" +
	"* *Caught*: harmful, and rejected. No program was rejected of which no run breaks.\n\n"

const laneMutationsHead = "Written by `MSCCLC_UPDATE=1 MSCCLC_RANDOM=%d go test ./ir/verify -run TestLaneMutations -timeout 1h`: %d programs of\n" +
	"2 to 4 lanes that the compiler makes of the catalog, at 2 to 4 ranks, each changed once, %d times.\n\n"

const betweenMutations = "\n## Lanes\n\n"

// mutationParts returns the two parts of MUTATIONS_ONESIDED.md: of one lane, and of several.
func mutationParts(t *testing.T) (plain, lanes string) {
	t.Helper()
	page, err := os.ReadFile("MUTATIONS_ONESIDED.md")
	if err != nil {
		t.Fatal(err)
	}
	plain, lanes, _ = strings.Cut(string(page), betweenMutations)
	return plain, lanes
}

// keepMutations writes MUTATIONS_ONESIDED.md.
func keepMutations(t *testing.T, plain, lanes string) {
	t.Helper()
	if err := os.WriteFile("MUTATIONS_ONESIDED.md", []byte(plain+betweenMutations+lanes), 0o666); err != nil {
		t.Fatal(err)
	}
}

// mutationRows returns the table of what came of the changes. A change of which the verifier and the explorer said
// different things failed the test.
func mutationRows(table map[string]*[4]int) string {
	var b strings.Builder
	b.WriteString("| change | tried | no program | harmful | caught |\n|---|---:|---:|---:|---:|\n")
	var sum [4]int
	for _, name := range slices.Sorted(maps.Keys(table)) {
		row := table[name]
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d |\n", name, row[0], row[1], row[2], row[3])
		for i := range sum {
			sum[i] += row[i]
		}
	}
	fmt.Fprintf(&b, "| all | %d | %d | %d | %d |\n", sum[0], sum[1], sum[2], sum[3])
	return b.String()
}
