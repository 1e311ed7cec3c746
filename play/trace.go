package play

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
)

// A TraceEvent is one event of the JSON that Chrome's about:tracing and Perfetto
// read: a rank is a process there, and a block's replica a thread. Times are in us.
type TraceEvent struct {
	Name     string         `json:"name"`
	Category string         `json:"cat,omitempty"`
	Phase    string         `json:"ph"` // X is a span, M names a process or a thread
	Process  int            `json:"pid"`
	Thread   int            `json:"tid"`
	Begin    float64        `json:"ts"`
	Length   float64        `json:"dur"`
	Colour   string         `json:"cname,omitempty"` // of about:tracing; Perfetto colours events by their names
	Args     map[string]any `json:"args,omitempty"`
}

// A TraceFile is a file that run and simulate write with --trace.
type TraceFile struct {
	OtherData struct {
		Program string `json:"program"`
		Passes  string `json:"passes"` // "2 of 5" tile iterations
	} `json:"otherData"`
	Events []TraceEvent `json:"traceEvents"`
}

// mostTrace bounds a trace that is read, in bytes.
const mostTrace = 64 << 20

// ReadTrace makes a Timeline of the text of a file that run or simulate wrote with --trace: of its first tile
// iterations, where it has too many spans.
func ReadTrace(name string, text []byte) (*Timeline, error) {
	if len(text) > mostTrace {
		return nil, fmt.Errorf("%s has more than %d bytes", name, mostTrace)
	}
	var f TraceFile
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, fmt.Errorf("%s is no trace: %v", name, err)
	}
	if f.Events == nil {
		return nil, fmt.Errorf("%s is no trace: it has no traceEvents", name)
	}
	t := &Timeline{Source: "trace", Title: fmt.Sprintf("%s of %s", f.OtherData.Program, name), Rows: []Row{},
		Looks: []string{}, Spans: []TimeSpan{}, Steps: []Step{}, Links: []Busy{}}
	fmt.Sscanf(f.OtherData.Passes, "%d of %d", &t.Iterations, &t.Of) // both are 0 where it says nothing
	t.Iterations = f.shown(t.Iterations)
	r := traceReader{t, map[[2]int]int{}, map[string]int{}, map[stepKey]int{}, map[[2]int]string{}}
	for i := range f.Events {
		if e := &f.Events[i]; e.Phase == "M" && e.Name == "thread_name" {
			r.names[[2]int{e.Process, e.Thread}], _ = e.Args["name"].(string)
		}
	}
	for i := range f.Events {
		if e := &f.Events[i]; e.Phase == "X" && number(e.Args["pass"]) < t.Iterations {
			t.End = max(t.End, e.Begin+e.Length)
			if len(t.Spans) < mostSpans {
				r.add(e)
			}
		}
	}
	slices.SortStableFunc(t.Spans, func(x, y TimeSpan) int { return cmp.Compare(x.Begin, y.Begin) })
	t.sortRows()
	return t, nil
}

// shown returns how many tile iterations of all fit into a timeline.
func (f *TraceFile) shown(all int) int {
	n := make([]int, max(all, 1))
	for i := range f.Events {
		if pass := number(f.Events[i].Args["pass"]); f.Events[i].Phase == "X" && pass >= 0 && pass < len(n) {
			n[pass]++
		}
	}
	sum, iterations := 0, 0
	for _, spans := range n {
		if sum += spans; sum > mostSpans && iterations > 0 {
			break
		}
		iterations++
	}
	return iterations
}

// A stepKey is a step of a row.
type stepKey struct {
	row  int
	text string
}

type traceReader struct {
	t     *Timeline
	rows  map[[2]int]int
	looks map[string]int
	steps map[stepKey]int
	names map[[2]int]string // of threads
}

// messageThread is the first number of threads that are messages between nodes, and none of a block.
const messageThread = 1 << 30

// add adds a span.
func (r *traceReader) add(e *TraceEvent) {
	t, at := r.t, [2]int{e.Process, e.Thread}
	row, known := r.rows[at]
	if !known {
		row = len(t.Rows)
		r.rows[at] = row
		block := e.Thread >> 12
		if e.Thread >= messageThread {
			block = -1
		}
		t.Rows = append(t.Rows, Row{e.Process, block, fmt.Sprintf("rank %d %s", e.Process, r.names[at])})
	}
	look, known := r.looks[e.Name]
	if !known {
		look = len(t.Looks)
		r.looks[e.Name] = look
		t.Looks = append(t.Looks, e.Name)
	}
	text, _ := e.Args["does"].(string)
	key := stepKey{row, fmt.Sprint(e.Args["step"], text, e.Name)}
	step, known := r.steps[key]
	if !known {
		step = len(t.Steps)
		r.steps[key] = step
		number := number(e.Args["step"])
		t.Steps = append(t.Steps, Step{e.Process, t.Rows[row].Block, number,
			fmt.Sprintf("%s step %d", t.Rows[row].Name, number), cmp.Or(text, e.Name), -1, []int{}, -1, Span{}})
	}
	waited, _ := e.Args["waited_us"].(float64)
	t.Spans = append(t.Spans, TimeSpan{row, step, look, number(e.Args["pass"]), e.Begin, waited, e.Length})
}

// number returns a number of JSON, or 0.
func number(x any) int {
	n, _ := x.(float64)
	return int(n)
}
