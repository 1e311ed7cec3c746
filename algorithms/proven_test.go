package algorithms_test

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"mscclc"
	"mscclc/codegen"
	"mscclc/internal/covering"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/lang"
)

// largeCounts are the rank counts beyond those that programs run with, at which each is proven: a program has up to 1.5
// million steps there.
var largeCounts = []int{32, 64, 128, 256, 512}

// many reports whether n ranks are so many that a program is proven in one combination, with 8 GPUs a node, and not in
// several: by default all are.
func many(n int) bool { return n >= 256 || n >= 64 && !covering.Full() || !covering.CI() }

// huge are programs that have millions of steps at 512 ranks, where only full runs prove them.
var huge = map[string]bool{"allgather/rail_rings": true, "allgather/swing": true, "allreduce/rail_rings": true,
	"allreduce/swing": true, "reducescatter/rail_rings": true, "reducescatter/swing": true}

// everyCount returns all rank counts that each program is proven at, where it is for
// that many: 2 to 17 only where all is asked for, since TestMatrix and TestOneSided prove what they run with these.
func everyCount() []int {
	if !covering.CI() {
		return []int{32, 64, 128}
	}
	if !covering.Full() {
		return []int{32, 64, 128, 512}
	}
	var counts []int
	for n := 2; n <= 17; n++ {
		counts = append(counts, n)
	}
	return append(counts, largeCounts...)
}

// counts returns the parameters of p for n ranks: for programs of nodes all ways to
// write n as nodes times gpus, of which few where n is large.
func (p *program) counts(n int) []lang.Params {
	var all []lang.Params
	if !slices.Contains(p.params, "nodes") {
		all = append(all, lang.Params{"ranks": n})
	} else {
		for gpus := 1; gpus <= n; gpus++ {
			if n%gpus == 0 && (n < 32 || gpus == 8 || !many(n) && (gpus == 4 || gpus == 16)) {
				all = append(all, lang.Params{"nodes": n / gpus, "gpus": gpus})
			}
		}
	}
	for i, s := range all {
		for name, value := range map[string]int{"root": (n - 1) * (i % 2), "channels": 1 + (n+i)%3, "distance": (n+i)%5 - 2} {
			if slices.Contains(p.params, name) {
				s[name] = value
			}
		}
		if slices.Contains(p.params, "ordered") {
			s["ordered"] = fmt.Sprint((n+i)%2 == 1)
		}
		p.divide(s)
	}
	return all
}

// A proof counts what came of one program.
type proof struct {
	counts  []int // rank counts that it was proven at
	proven  int
	steps   int // of all that was proven
	refused int // combinations that a target refused
}

// TestProven compiles every program at 32, 64 and 128 ranks, for CI at 512 too, and asks for a proof of what comes out,
// for one of the combinations of protocol, instances and placement, for CI for four at 32 ranks; with
// MSCCLC_TESTS=full also at 256 and at 2 to 17, and below 256 ranks for all of them and all targets, which writes
// PROVEN.md. Nothing may be rejected, and nothing undecided.
func TestProven(t *testing.T) {
	all := programs(t)
	proofs := make([]proof, len(all))
	t.Cleanup(func() { // when all are through
		var b strings.Builder
		var sum proof
		for i, p := range all {
			y := proofs[i]
			row := fmt.Sprintf("| %s | %s | %d | %d | %d |\n", p.name, ranges(y.counts), y.proven, y.steps, y.refused)
			b.WriteString(sum.add(y, row, "PROVEN.md", p.name))
		}
		sum.report(t, "PROVEN.md",
			"# What was proven\n\nMade by `MSCCLC_TESTS=full go test -timeout 0 -run 'TestProven$' ./algorithms`: each program at 2 to 17, 32, 64 and 128 ranks,\n"+
				"where it is for that many (nodes times gpus in every way up to 17), for targets msccl, rccl and program, protocols Simple\n"+
				"and LL, 1 and 2 instances, in place and out of place, and at 256 and 512 ranks in one of these ways. *refused* counts what is too\n"+
				"large for its target.\n\n| program | ranks | proven | steps | refused |\n|---|---|---|---|---|\n", b.String())
	})
	for i := range all {
		t.Run(all[i].name, func(t *testing.T) {
			t.Parallel()
			proofs[i] = all[i].prove(t, i)
		})
	}
}

// add adds y to a sum, and returns its row. A program that this run has not tried keeps the row that it has in a file:
// so -run may name new programs only.
func (p *proof) add(y proof, row, file, name string) string {
	if y.proven == 0 {
		page, _ := os.ReadFile(file)
		row = keptRow(string(page), name)
		cells := strings.Split(row, " | ")
		if len(cells) < 4 {
			return ""
		}
		fmt.Sscan(cells[2]+" "+strings.TrimSuffix(cells[3], " |\n"), &y.proven, &y.steps)
	}
	p.proven, p.steps = p.proven+y.proven, p.steps+y.steps
	return row
}

// report logs a table of what was proven, and writes it to a file where that was all that a program is proven for and
// nothing failed.
func (p *proof) report(t *testing.T, file, head, rows string) {
	rows += fmt.Sprintf("\n%d programs, %d combinations proven, %d steps; none rejected, none undecided.\n",
		strings.Count(rows, "\n"), p.proven, p.steps)
	t.Logf("\n%s", rows)
	if covering.Full() && !t.Failed() {
		if err := os.WriteFile(file, []byte(head+rows), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// prove compiles and proves p, the at-th program, at every rank count.
func (p *program) prove(t *testing.T, at int) proof {
	var sum proof
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	legal := map[int]bool{}
	for turn, n := range everyCount() {
		if n == 512 && huge[p.name] && !covering.Full() {
			continue
		}
		for k, params := range p.counts(n) {
			for _, c := range combinations(params, at+turn+k, n) {
				g.Go(func() error {
					steps, refused, err := p.proveOne(&c)
					mu.Lock()
					defer mu.Unlock()
					switch code := codeOf(err); {
					case refused && (code == diag.AssertFailed || code == diag.NotInPlace):
						return nil // p is not for that
					case refused && (code == diag.Limit || code == diag.Unsupported):
						sum.refused++
					case err != nil:
						t.Errorf("%s %v: %v", p.name, &c, err)
					default:
						sum.counts = append(sum.counts, n)
						sum.proven++
						sum.steps += steps
					}
					legal[n] = true
					return nil
				})
			}
		}
	}
	g.Wait()
	slices.Sort(sum.counts)
	sum.counts = slices.Compact(sum.counts)
	least := min(4, len(everyCount()))
	if huge[p.name] && !covering.Full() {
		least = min(least, 3)
	}
	if len(sum.counts) < least || len(sum.counts) < len(legal) {
		t.Errorf("%s was proven at %v ranks only", p.name, sum.counts)
	}
	return sum
}

// combinations returns the combinations of one shape of n ranks: all, or, for target plan, which takes all, four in
// which any two values of any two of protocol, instances and placement meet; with many ranks one, in the placement that
// the file has.
func combinations(params lang.Params, turn, n int) (all []combination) {
	for row := range 8 {
		protocol, instances, inplace := row&1, row>>1&1, row>>2&1
		for _, target := range twoSided {
			plan := target.Format == codegen.FormatProgram
			if many(n) {
				if plan && row == turn&1 {
					all = append(all, combination{params: params, target: target, protocol: [2]ir.Protocol{ir.Simple, ir.LL}[protocol],
						instances: 1, own: true, fuse: true})
				}
			} else if covering.Full() || plan && protocol^instances^inplace == turn&1 {
				all = append(all, combination{params: maps.Clone(params), target: target,
					protocol: [2]ir.Protocol{ir.Simple, ir.LL}[protocol], instances: 1 + instances, inplace: inplace == 1, fuse: true})
			}
		}
	}
	return all
}

// proveOne compiles c, and says how many steps were proven. It may be refused as
// long as there is no program yet; what there is must be proven.
func (p *program) proveOne(c *combination) (steps int, refused bool, err error) {
	var program *either.Program
	opt := c.options(p)
	opt.Stage = func(value any) error {
		if made, ok := value.(*either.Program); ok {
			program = made
		}
		return nil
	}
	_, err = mscclc.CompileFile(p.tree, opt)
	if err != nil || program == nil {
		return 0, program == nil && codeOf(err) != "", err
	}
	return len(program.Steps), false, nil
}

// ranges writes sorted numbers as 2-17, 32.
func ranges(n []int) string {
	var words []string
	for i := 0; i < len(n); i++ {
		first := i
		for i+1 < len(n) && n[i+1] == n[i]+1 {
			i++
		}
		if first == i {
			words = append(words, fmt.Sprint(n[i]))
		} else {
			words = append(words, fmt.Sprintf("%d-%d", n[first], n[i]))
		}
	}
	return strings.Join(words, ", ")
}
