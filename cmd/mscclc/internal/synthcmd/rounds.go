package synthcmd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/synthesis"
	"mscclc/synthesis/rounds"
	"mscclc/topology"
)

// This file makes programs of few rounds, for small calls on GPUs that are joined directly.

// A Schedule is how a program's chunks go in steps, as in SCCL.
type Schedule struct {
	Chunks int          `json:"chunks" doc:"of each root, or of each pair of alltoall"`
	Steps  rounds.Steps `json:"steps" doc:"the rounds of each step; of allreduce those of its reducescatter first"`
	Proven bool         `json:"proven" doc:"no schedule of as many chunks and steps has fewer rounds; of allreduce, each half has none"`
	Why    string       `json:"why" doc:"what proves it, or why it is not known"`
}

func scheduleOf(r *synthesis.Result) *Schedule {
	if y := r.Rounds; y != nil {
		return &Schedule{Chunks: y.Chunks, Steps: y.Steps, Proven: y.Proven, Why: y.Why}
	}
	return nil
}

// lines say how many rounds there are, and whether there must be as many.
func (s *Schedule) lines(kind string) []string {
	whose, of, least := "each root", "no schedule", "the same chunks and steps"
	switch kind {
	case ir.AllToAll.String():
		whose = "each pair"
	case ir.AllReduce.String():
		of = "neither half has a schedule"
	}
	var steps []string
	for _, r := range s.Steps {
		steps = append(steps, fmt.Sprint(r))
	}
	list := []string{fmt.Sprintf("schedule: %s of %s over links from GPU to GPU, in %s of %s %s",
		diag.Counted(s.Chunks, "chunk"), whose, diag.Counted(len(s.Steps), "step"), strings.Join(steps, ", "),
		diag.Plural(s.Steps.Rounds(), "round"))}
	if !s.Proven {
		return append(list, fmt.Sprintf("rounds: %d, found and not proven to be the fewest: %s", s.Steps.Rounds(), s.Why))
	}
	return append(list, fmt.Sprintf("rounds: %d, proven to be the fewest: %s of %s has fewer (%s)", s.Steps.Rounds(), of, least,
		s.Why))
}

// cell is what the table of --sizes says of a schedule.
func (s *Schedule) cell() string {
	switch {
	case s == nil:
		return "-"
	case s.Proven:
		return fmt.Sprintf("%d in %d, proven least", s.Steps.Rounds(), len(s.Steps))
	}
	return fmt.Sprintf("%d in %d, found", s.Steps.Rounds(), len(s.Steps))
}

// mostForRounds is for how long schedules are looked for at most; and a third of the time that is left at most.
const mostForRounds = 20 * time.Second

// schedules makes the programs of few rounds. Where their time is over, a note says what they are.
func schedules(ctx context.Context, a *cli.App, t *topology.Topology, r synthesis.Request) (list []*made, err error) {
	limit := mostForRounds
	if end, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(end)/3)
	}
	short, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	found, err := synthesis.Front(short, t, r)
	if errors.Is(err, rounds.ErrTime) {
		a.Note("", "the search for schedules of few rounds ended after %v, with %s: --time gives it up to %v",
			limit.Round(time.Millisecond), diag.Counted(len(found), "schedule"), mostForRounds)
	} else if err != nil && !errors.Is(err, synthesis.ErrIndirect) {
		return nil, err
	}
	for _, one := range found {
		m, err := checked(t, r, one)
		if err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list, nil
}
