package picture

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/executor"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/text"
	"mscclc/play"
)

// WriteTrace writes t, a run of p, an event a line.
func WriteTrace(w io.Writer, p *either.Program, t *executor.Trace, looks *play.Looks) error {
	out := bufio.NewWriterSize(w, 1<<16)
	fmt.Fprintf(out, `{"displayTimeUnit":"ns","otherData":{"program":%s,"passes":"%d of %d"},"traceEvents":[`,
		quoted(p.Name), t.Passes, t.Of)
	sign := "\n"
	add := func(e play.TraceEvent) {
		b, err := json.Marshal(e)
		if err == nil { // what a play.TraceEvent holds can always be written
			out.WriteString(sign)
			out.Write(b)
			sign = ",\n"
		}
	}
	for _, e := range traceNames(p, t) {
		add(e)
	}
	for i := range t.Spans {
		add(spanEvent(p, &t.Spans[i], looks))
	}
	for i := range t.Messages {
		add(messageEvent(p, &t.Messages[i]))
	}
	out.WriteString("\n]}\n")
	return out.Flush()
}

func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(b)
}

// laneOf returns the number of a replica's thread among those of its rank.
func laneOf(block int, replica int32) int { return block<<12 + int(replica) }

// traceNames names the ranks and the replicas of blocks of which t has spans.
func traceNames(p *either.Program, t *executor.Trace) []play.TraceEvent {
	var events []play.TraceEvent
	type lane struct{ rank, tid int }
	seen := map[lane]bool{}
	name := func(kind, name string, at lane) {
		if !seen[at] {
			seen[at] = true
			events = append(events, play.TraceEvent{Name: kind, Phase: "M", Process: at.rank, Thread: max(at.tid, 0),
				Args: map[string]any{"name": name}})
		}
	}
	for i := range t.Spans {
		s := &t.Spans[i]
		rank, block, _ := p.Place(s.Step)
		text := play.BlockName(p, rank, block)
		if p.OneSided != nil {
			text += fmt.Sprintf(" replica %d", s.Replica)
		}
		name("process_name", fmt.Sprintf("rank %d", rank), lane{rank, -1})
		name("thread_name", text, lane{rank, laneOf(block, s.Replica)})
	}
	for i := range t.Messages {
		m := &t.Messages[i]
		name("process_name", fmt.Sprintf("rank %d", m.Rank), lane{int(m.Rank), -1})
		name("thread_name", messageName(m), lane{int(m.Rank), messageLane(m)})
	}
	return events
}

// messageLane returns the number of the thread that has the messages which a rank sends to another one, or receives
// from it. It comes after those of blocks.
func messageLane(m *executor.Message) int {
	n := 1<<30 + 2*int(m.Peer)
	if m.Received {
		n++
	}
	return n
}

func messageName(m *executor.Message) string {
	if m.Received {
		return fmt.Sprintf("from rank %d", m.Peer)
	}
	return fmt.Sprintf("to rank %d", m.Peer)
}

// messageEvent returns a message between nodes.
func messageEvent(p *either.Program, m *executor.Message) play.TraceEvent {
	rank, block, step := p.Place(m.Step)
	return play.TraceEvent{Name: messageName(m), Category: "network", Phase: "X", Process: int(m.Rank), Thread: messageLane(m),
		Begin: micros(m.Begin), Length: micros(m.Length), Args: map[string]any{"bytes": m.Bytes, "pass": m.Pass,
			"signal":   fmt.Sprintf("rank %d block %d step %d", rank, block, step),
			"replicas": fmt.Sprintf("%d to %d", m.Replica, m.Replica+m.Replicas-1)}}
}

// spanEvent returns one step. Its name is its look, so that Perfetto, which colours by names, gives each look one
// colour.
func spanEvent(p *either.Program, s *executor.Span, looks *play.Looks) play.TraceEvent {
	rank, block, step := p.Place(s.Step)
	what, look := &p.Steps[s.Step], looks.Of[s.Step]
	e := play.TraceEvent{Name: looks.Names[look], Category: what.Op.String(), Phase: "X",
		Process: rank, Thread: laneOf(block, s.Replica), Begin: micros(s.Begin), Length: micros(s.Length),
		Colour: chromeColours[look],
		Args:   map[string]any{"does": text.StepText(p, int32(rank), what), "step": step, "pass": s.Pass}}
	if p.OneSided == nil {
		e.Args["message"] = s.Message
	}
	if s.Waited > 0 {
		e.Args["waited_us"] = micros(s.Waited)
	}
	if at := p.Span(what.Pos).Pos; at.Line > 0 {
		e.Args["source"] = at.String()
	}
	return e
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// SaveTrace writes t, a run of p, to a file, and says what is in it.
func SaveTrace(a *cli.App, file string, p *either.Program, t *executor.Trace, looks *play.Looks) error {
	err := a.WriteTo(file, func(w io.Writer) error { return WriteTrace(w, p, t, looks) })
	if err == nil {
		what := diag.Counted(len(t.Spans), "step")
		if n := len(t.Messages); n > 0 {
			what += " and " + diag.Counted(n, "message")
		}
		a.Say("%s: a trace of %s, in %d of %s", file, what, t.Passes, diag.Counted(int(t.Of), "tile iteration"))
	}
	return err
}
