package verifycmd

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/compiling"
	"mscclc/ir/diag"
	"mscclc/ir/text"
	"mscclc/lang"
	"mscclc/lang/syntax"
)

// mostRanks and mostCounts bound what --ranks may ask for.
const (
	mostRanks  = 4096
	mostCounts = 1024
)

// parseCounts reads numbers and ranges of them: 2-17,64.
func parseCounts(text string) ([]int, error) {
	counts, _, ok := cli.Numbers(text, 1, mostRanks, mostCounts)
	if !ok {
		return nil, cli.Usagef("--ranks takes numbers from 1 to %d and ranges of them, at most %d, as in 2-17,64; not %q",
			mostRanks, mostCounts, text)
	}
	slices.Sort(counts)
	return slices.Compact(counts), nil
}

// printCounts writes sorted numbers as 2-17,64.
func printCounts(counts []int) string {
	var parts []string
	for i := 0; i < len(counts); i++ {
		first := i
		for i+1 < len(counts) && counts[i+1] == counts[i]+1 {
			i++
		}
		if part := strconv.Itoa(counts[first]); first == i {
			parts = append(parts, part)
		} else {
			parts = append(parts, fmt.Sprintf("%s-%d", part, counts[i]))
		}
	}
	return strings.Join(parts, ",")
}

// ranksText writes sorted numbers of ranks as 2-17,64 ranks.
func ranksText(counts []int) string {
	if len(counts) == 1 {
		return diag.Counted(counts[0], "rank")
	}
	return printCounts(counts) + " ranks"
}

// A countsReport is what --json says of --ranks.
type countsReport struct {
	Proven   []int  `json:"proven"`
	Refused  []int  `json:"refused" doc:"by an assert of the file"`
	Why      string `json:"why,omitempty" doc:"the text of the last assert"`
	Programs int    `json:"programs" doc:"that were proven"`
	Steps    int    `json:"steps" doc:"of all of them"`
}

// judgeRanks judges the algorithm in src at each number of ranks that is asked for. One that the file refuses by an
// assert is no fault of it; any other error is, and ends it.
func judgeRanks(a *cli.App, s *cli.Source, src []byte, f *verifyFlags, d *verdict) error {
	opt, err := f.Options(s)
	if err != nil {
		return err
	}
	tree, err := syntax.ParseLimited(s.Name, src, opt.Lang.Limits)
	if err != nil {
		return err
	}
	if fixed := len(compiling.SharesOf(tree, 1)) == 0; lang.IsLibrary(tree) || fixed && d.listed {
		p, err := judgeText(a, s, src, f, d)
		if d.last = p; err == nil && p != nil {
			d.line, d.note = text.Proven(p), "it has no parameter ranks: it is judged as it is"
		}
		return err
	} else if fixed { // no number of ranks is for it
		set := *f
		set.RanksSetting = fmt.Sprintf("ranks=%d", f.counts[0])
		_, err := judgeText(a, s, src, &set, d)
		return err
	}
	c := countsReport{Proven: []int{}, Refused: []int{}}
	why := ""
	for _, n := range f.counts {
		took := false
		for _, share := range compiling.SharesOf(tree, n) {
			one := *f
			one.Params = slices.Concat(f.Params, share)
			p, err := judgeText(a, s, src, &one, d)
			if p != nil {
				d.last = p
			}
			if says, ok := assertOf(err); ok {
				why = says
				continue
			} else if err != nil {
				return during(err, strings.Join(share, " "))
			}
			took = true
			c.Programs, c.Steps = c.Programs+1, c.Steps+len(p.Steps)
		}
		if took {
			c.Proven = append(c.Proven, n)
		} else {
			c.Refused, c.Why = append(c.Refused, n), why
		}
	}
	if d.last == nil {
		return diag.List{diag.New(diag.AssertFailed, cli.FileSpan(s.Name), "the algorithm is not for %s: %s",
			ranksText(c.Refused), why)}
	}
	d.counts = &c
	d.line = fmt.Sprintf("proven: %s, %s, %s; %s", ranksText(c.Proven), diag.Counted(c.Programs, "program"),
		diag.Counted(c.Steps, "step"), text.Finished(d.last)+overNodes(f.Nodes))
	if len(c.Refused) > 0 {
		d.line += fmt.Sprintf("; refused: %s, %s", ranksText(c.Refused), diag.Printable(why))
	}
	return nil
}

// assertOf returns the text of an assert that failed, where err is nothing else.
func assertOf(err error) (string, bool) {
	var list diag.List
	if !errors.As(err, &list) || len(list) == 0 ||
		slices.ContainsFunc(list, func(d diag.Diagnostic) bool { return d.Code != diag.AssertFailed }) {
		return "", false
	}
	return list[0].Text, true
}

// during is err with a note of the parameters that it comes with.
func during(err error, params string) error {
	var list diag.List
	if !errors.As(err, &list) {
		return fmt.Errorf("%s: %w", params, err)
	}
	list = slices.Clone(list)
	for i := range list {
		list[i] = list[i].WithNote(diag.Span{}, "that is with %s", params)
	}
	return list
}

// checkRanks refuses flags that --ranks does not go with, and reads it. One number for a judgement of one program is a
// parameter.
func (f *verifyFlags) checkRanks() (err error) {
	f.Params = slices.DeleteFunc(f.Params, func(p string) bool {
		value, ok := strings.CutPrefix(p, "ranks=")
		if _, err := parseCounts(value); !ok || f.ranks != "" || err != nil || !strings.ContainsAny(value, ",-") {
			return false
		}
		f.ranks = value // -p ranks=2,4 is --ranks 2,4
		return true
	})
	if f.ranks == "" {
		return nil
	}
	for _, p := range f.Params {
		if name, _, _ := strings.Cut(p, "="); name == "ranks" || name == "nodes" || name == "gpus" {
			return cli.Usagef("--ranks and -p %s both say how many ranks there are", p)
		}
	}
	if f.counts, err = parseCounts(f.ranks); err != nil || !f.bitwise && f.bits == "" && !f.replay && f.Target != "mscclpp" {
		return err
	}
	if len(f.counts) > 1 {
		return cli.Usagef("--bitwise, --bits, --replay and --target mscclpp judge one number of ranks: give one to --ranks, not %s",
			f.ranks)
	}
	f.RanksSetting, f.counts = fmt.Sprintf("ranks=%d", f.counts[0]), nil
	return nil
}
