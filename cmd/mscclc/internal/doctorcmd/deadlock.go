package doctorcmd

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"mscclc/ir/diag"
)

// An edge says that a process waits for another one.
type edge struct {
	to   *record
	text string // "waits in call 5 of communicator 1a2b3c4d"
}

// edges finds who waits for whom in the communicators: a call that has not ended waits for the ranks that have not made
// it.
func edges(groups [][]member, patience time.Duration) map[*record][]edge {
	all := map[*record][]edge{}
	for _, g := range groups {
		for _, m := range g {
			i := slices.IndexFunc(m.Last, func(k call) bool {
				return k.State != "ended" && m.waits(&k) >= patience &&
					slices.ContainsFunc(g, func(o member) bool { return o.Calls < k.Call })
			})
			if i < 0 {
				continue
			}
			for _, o := range g {
				if o.of != m.of && o.Calls < m.Last[i].Call {
					text := fmt.Sprintf("waits in call %d of communicator %s", m.Last[i].Call, diag.Printable(m.Name))
					all[m.of] = append(all[m.of], edge{o.of, text})
				}
			}
		}
	}
	return all
}

// deadlock finds processes that wait for each other in a circle, or returns "".
func deadlock(list []*record, all map[*record][]edge) string {
	done := map[*record]bool{}
	for _, r := range list {
		if text := circle(r, all, done, nil, nil); text != "" {
			return text
		}
	}
	return ""
}

// circle follows who waits for whom from r, after those of path.
func circle(r *record, all map[*record][]edge, done map[*record]bool, path []*record, texts []string) string {
	if i := slices.Index(path, r); i >= 0 {
		var parts []string
		for k := i; k < len(path); k++ {
			parts = append(parts, fmt.Sprintf("%s %s", path[k].process(), texts[k]))
		}
		return fmt.Sprintf("processes wait for each other: %s %s; calls of several communicators must come in one order on all ranks",
			strings.Join(parts, " for "), "for "+r.process())
	}
	if done[r] {
		return ""
	}
	done[r] = true
	for _, e := range all[r] {
		if text := circle(e.to, all, done, append(path, r), append(texts, e.text)); text != "" {
			return text
		}
	}
	return ""
}

// process names a process.
func (r *record) process() string { return fmt.Sprintf("%s:%d", diag.Printable(r.Host), r.Pid) }
