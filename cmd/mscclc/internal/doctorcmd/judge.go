package doctorcmd

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"mscclc/ir/diag"
)

// A member is a rank of a communicator, with the record that has it.
type member struct {
	*communicator
	of *record
}

// waits returns how long before its record was written a call was made.
func (m member) waits(c *call) time.Duration { return m.of.Time.Sub(c.Time) }

// at returns call n, or nil where it was not made, or many were made since.
func (m member) at(n int) *call {
	i, ok := slices.BinarySearchFunc(m.Last, n, func(c call, n int) int { return cmp.Compare(c.Call, n) })
	if !ok {
		return nil
	}
	return &m.Last[i]
}

// open returns the first call that has begun and not ended, or nil.
func (m member) open() *call {
	for i := range m.Last {
		if m.Last[i].State == "open" {
			return &m.Last[i]
		}
	}
	return nil
}

// group puts the communicators of all records together by their identity. Those without one, which are NCCL's, count as
// the same where they are the n-th of a given number of ranks in each process.
func group(list []*record) (groups [][]member) {
	index := map[string]int{}
	for _, r := range list {
		nth := map[int]int{}
		for i := range r.Communicators {
			c := &r.Communicators[i]
			if c.Ranks < 2 {
				continue
			}
			key := c.ID
			if key == "" {
				nth[c.Ranks]++
				key = fmt.Sprintf("%d ranks, number %d", c.Ranks, nth[c.Ranks])
			}
			at, ok := index[key]
			if !ok {
				at = len(groups)
				index[key], groups = at, append(groups, nil)
			}
			groups[at] = append(groups[at], member{c, r})
		}
	}
	for _, g := range groups {
		slices.SortStableFunc(g, func(a, b member) int { return cmp.Compare(a.Rank, b.Rank) })
	}
	return groups
}

// judge says what is wrong with a communicator. Calls that were made less than patience before a record was written may
// still be made elsewhere. damaged is how many files could not be read.
func judge(g []member, damaged int, patience time.Duration) Communicator {
	first := g[0]
	c := Communicator{Name: first.Name, Ranks: first.Ranks, Missing: []int{}, Rows: []Row{}, Problems: []string{}}
	seen := map[int]int{}
	for _, m := range g {
		seen[m.Rank]++
		if m.Ranks != first.Ranks {
			c.problem("ranks %d and %d say that it has %d and %d ranks", first.Rank, m.Rank, first.Ranks, m.Ranks)
		}
	}
	for r := range first.Ranks {
		switch seen[r] {
		case 0:
			c.Missing = append(c.Missing, r)
		case 1:
		default:
			if first.ID == "" { // of several communicators, which nothing tells apart
				c.Unmatched = true
				return c.rows(g)
			}
			c.problem("%d files have rank %d: some are of an earlier time; remove old files", seen[r], r)
		}
	}
	if len(c.Missing) > 0 && !over(g) {
		c.problem("%s", c.missing(damaged))
	}
	for _, m := range g {
		if m.Failure != "" {
			text := strings.TrimPrefix(m.Failure, fmt.Sprintf("rank %d of %d: ", m.Rank, m.Ranks))
			c.problem("rank %d has failed: %s", m.Rank, diag.Printable(text))
		}
	}
	c.differs(g)
	c.findLate(g, patience)
	return c.rows(g)
}

// missing says that ranks are missing, and what may be the cause.
func (c *Communicator) missing(damaged int) string {
	ranks := ranksText(c.Missing)
	if damaged == 0 {
		return fmt.Sprintf("no file has %s: a process that has ended by a signal writes none, and others may have another folder", ranks)
	}
	is := "is"
	if damaged > 1 {
		is = "are"
	}
	return fmt.Sprintf("%s may be in what could not be read: %s %s damaged", ranks, diag.Counted(damaged, "file"), is)
}

// over reports whether a communicator has ended well on all ranks that still know it. Processes forget such ones.
func over(g []member) bool {
	return !slices.ContainsFunc(g, func(m member) bool { return m.State != "ended" || m.Failure != "" })
}

func (c *Communicator) problem(format string, args ...any) {
	c.Problems = append(c.Problems, fmt.Sprintf(format, args...))
}

// parts puts the ranks that made call n into parts, by what key says of it, in the order of ranks.
func parts(g []member, n int, key func(*call) string) (list []Called) {
	for _, m := range g {
		k := m.at(n)
		if k == nil {
			continue
		}
		text := key(k)
		i := slices.IndexFunc(list, func(c Called) bool { return c.Call == text })
		if i < 0 {
			i, list = len(list), append(list, Called{Call: text})
		}
		list[i].Ranks = append(list[i].Ranks, m.Rank)
	}
	return list
}

// runner says what runs a call.
func runner(c *call) string {
	if c.Native {
		return "a program"
	}
	return "NCCL"
}

// differs finds the first call that ranks made unlike each other. The calls before those that a record has left are not
// known.
func (c *Communicator) differs(g []member) {
	from, to := 0, 0
	for _, m := range g {
		if len(m.Last) > 0 {
			from, to = max(from, m.Last[0].Call), max(to, m.Last[len(m.Last)-1].Call)
		}
	}
	for n := from; n <= to; n++ {
		words, list := "called", parts(g, n, (*call).text)
		if len(list) == 1 {
			words, list = "had it run by", parts(g, n, runner)
		}
		if len(list) < 2 {
			continue
		}
		var texts []string
		for _, p := range list {
			texts = append(texts, fmt.Sprintf("%s %s %s", ranksText(p.Ranks), words, p.Call))
		}
		c.Differs = &Difference{Call: n, Called: list}
		between := ", and "
		if len(texts) > 2 {
			between = "; "
		}
		c.problem("call %d does not match: %s", n, strings.Join(texts, between))
		return
	}
}

// findLate finds the first call that some ranks wait in and others have not made, or that all wait in.
func (c *Communicator) findLate(g []member, patience time.Duration) {
	n := slices.MinFunc(g, func(a, b member) int { return cmp.Compare(a.Calls, b.Calls) }).Calls + 1
	var late, older, waiting, far []int
	var longest time.Duration
	var text string
	made := madeLast(g, n)
	for _, m := range g {
		k := m.at(n)
		switch {
		case m.Calls < n && m.of.Time.Before(made):
			older = append(older, m.Rank)
		case m.Calls < n:
			late = append(late, m.Rank)
		case k == nil:
			far = append(far, m.Rank)
		case k.State != "ended":
			waiting, longest, text = append(waiting, m.Rank), max(longest, m.waits(k)), k.text()
		}
	}
	switch {
	case len(far) > 0:
		c.problem("%s made %s: %s no more call %d, since a file has only the last 64", has(append(late, older...)),
			diag.Counted(n-1, "call"), has(far), n)
	case len(waiting) > 0 && longest >= patience:
		if len(late) > 0 {
			c.problem("%s made only %s: call %d, %s, was made by %s %s before the file was written", has(late),
				diag.Counted(n-1, "call"), n, text, ranksText(waiting), seconds(longest))
		}
		if len(older) > 0 {
			c.problem("call %d, %s, of %s is later than what is written of %s: nothing says whether it was made there", n, text,
				ranksText(waiting), ranksText(older))
		}
		if len(c.Missing) > 0 {
			c.problem("no file says whether %s made call %d", ranksText(c.Missing), n)
		}
	case len(waiting) == 0 && c.Differs == nil:
		c.stuck(g, patience)
	}
}

// madeLast returns when the last rank made call n.
func madeLast(g []member, n int) (last time.Time) {
	for _, m := range g {
		if k := m.at(n); k != nil && k.Time.After(last) {
			last = k.Time
		}
	}
	return last
}

// stuck finds a call that all ranks have made, and that has not ended for so long, or when its communicator failed.
func (c *Communicator) stuck(g []member, patience time.Duration) {
	for _, m := range g {
		k := m.open()
		switch {
		case k == nil || (m.waits(k) < patience && m.Failure == ""):
			continue
		case len(c.Missing) > 0:
			c.problem("call %d, %s, has not ended on rank %d: no file says whether %s made it", k.Call, k.text(), m.Rank,
				ranksText(c.Missing))
		default:
			c.problem("call %d, %s, was made by all ranks, and has not ended on rank %d for %s", k.Call, k.text(), m.Rank,
				seconds(m.waits(k)))
		}
		return
	}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.0f s", d.Seconds()) }

// rows says what each rank has called, with those together that say the same.
func (c *Communicator) rows(g []member) Communicator {
	for _, m := range g {
		r := Row{Ranks: []int{m.Rank}, Calls: m.Calls, State: m.State}
		if k := m.open(); k != nil {
			r.Open, r.Waits, r.Call = k.Call, max(0, m.waits(k).Seconds()), k.text()
		} else if n := len(m.Last); n > 0 {
			r.Call = m.Last[n-1].text()
		}
		if !c.Unmatched {
			i := slices.IndexFunc(c.Rows, func(o Row) bool {
				return o.Calls == r.Calls && o.State == r.State && o.Open == r.Open && o.Call == r.Call
			})
			if i >= 0 {
				c.Rows[i].Ranks = append(c.Rows[i].Ranks, m.Rank)
				c.Rows[i].Waits = max(c.Rows[i].Waits, r.Waits)
				continue
			}
		}
		c.Rows = append(c.Rows, r)
	}
	return *c
}
