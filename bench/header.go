package bench

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// This file writes what stands above the rows. Lines and columns that nccl-tests has are written as it writes them.

// ofRanks says which time of the ranks' times counts.
var ofRanks = [...]string{SlowestRank: "the slowest rank", RankZero: "the time of rank 0",
	MeanOfRanks: "the mean of the ranks", FastestRank: "the fastest rank"}

// blockings says what the host waits for.
var blockings = [NumBlocking]string{
	WaitAndMeet:  "wait and barrier after each inner iteration (-m)",
	Wait:         "wait after each inner iteration (-m), no barrier",
	GroupAndMeet: "wait and barrier after each outer iteration (-n); time excludes barrier",
}

// Header writes what stands above the rows.
func (r *Report) Header(w io.Writer) {
	fmt.Fprintf(w, "# mscclc bench: %v, %s, %s\n", r.Coll.Kind, r.Algo, r.Device+withDriver(r.Driver))
	m := &r.Measuring
	launches := "as many as take " + m.Target.String()
	if m.Launches > 0 {
		launches = fmt.Sprint(m.Launches)
	}
	if m.Group > 1 {
		launches += fmt.Sprintf(" agg iters: %d", m.Group)
	}
	graph, step := 1, fmt.Sprintf("%d(factor)", r.Factor)
	if m.Plain {
		graph = 0
	}
	if r.Step > 0 {
		step = fmt.Sprintf("%d(bytes)", r.Step)
	}
	unalign := ""
	if r.Unalign > 0 {
		unalign = fmt.Sprintf(" unalign: %d", r.Unalign)
	}
	fmt.Fprintf(w, "# nRanks %d nProcesses %d minBytes %d maxBytes %d step: %s warmup replays: %d replays: %d iters of a replay: %s validation: 1 graph: %d%s\n",
		r.Coll.Ranks, r.Processes, r.MinBytes, r.MaxBytes, step, m.Warmup, m.Replays, launches, graph, unalign)
	fmt.Fprintf(w, "# time is of one operation: the median of the replays, of each %s\n", ofRanks[m.Of])
	if m.Blocking != Queued {
		fmt.Fprintf(w, "# Blocking Enabled: %s\n", blockings[m.Blocking])
	}
	if r.Spread {
		fmt.Fprintf(w, "# Per-Iteration Report: i_* are of the replays, each of one iteration%s\n",
			spaces(fmt.Sprintf("; summary skips first %d iterations", r.Skip), r.Skip > 0))
	}
	if r.Finished != nil {
		fmt.Fprintf(w, "# rows of %d elements, each then: %v; sizes are of sums\n", r.Finished.Length, r.Finished.Then)
	}
	if r.Beside != "" {
		fmt.Fprintf(w, "# %s: another program, in the same queue, on the same buffers; ratio = %s / ours\n", r.Beside, r.Beside)
	}
	if r.NCCL > 0 {
		fmt.Fprintf(w, "# NCCL %s (%s), in the same queue, on the same buffers; its time is of the faster of graph and plain launches; ratio = NCCL / ours\n", versionText(r.NCCL), r.NCCLPath)
	}
	fmt.Fprintf(w, "#\n# Using devices\n")
	for _, d := range r.Devices {
		fmt.Fprintf(w, "#  Rank %2d Group %2d Pid %6d on %10s device %2d %s\n", d.Rank, d.Group, d.PID, d.Host,
			d.Number, d.Info)
	}
	r.columns(w)
}

// columns writes the names of the columns, and their units.
func (r *Report) columns(w io.Writer) {
	name := "time"
	if r.CPUTime {
		name = "cputime"
	}
	place, units := fmt.Sprintf("  %7s  %6s  %6s  %6s", name, "algbw", "busbw", "#wrong"),
		fmt.Sprintf("  %7s  %6s  %6s  %6s", "(us)", "(GB/s)", "(GB/s)", "")
	over := "           out-of-place                       in-place          "
	if r.Spread {
		over = "              out-of-place (+ per-iteration)                                in-place (+ per-iteration)"
		place += fmt.Sprintf("  %7s  %7s  %7s  %7s", "i_min", "i_max", "i_p99", "i_cv%")
		units += fmt.Sprintf("  %7s  %7s  %7s  %7s", "(us)", "(us)", "(us)", "(%)")
	}
	rival, rivalUnits, rivalOver := "", "", ""
	if name := r.rival(); name != "" {
		rival, rivalUnits = fmt.Sprintf("  %7s   ratio  %7s   ratio", name, name), "     (us)             (us)        "
		rivalOver = "  out-of-place      in-place"
	}
	stamp, stampUnits := "", ""
	if r.Stamps {
		stamp, stampUnits = fmt.Sprintf("%21s", "timestamp"), fmt.Sprintf("%21s", "%Y-%m-%d %H:%M:%S")
		over += strings.Repeat(" ", len(stamp))
	}
	fmt.Fprintf(w, "#\n# %10s  %12s  %8s  %6s  %6s%s%s\n", "", "", "", "", "", over, rivalOver)
	fmt.Fprintf(w, "# %10s  %12s  %8s  %6s  %6s%s%s%s%s  launch, program\n", "size", "count", "type", "redop", "root",
		place, place, stamp, rival)
	fmt.Fprintf(w, "# %10s  %12s  %8s  %6s  %6s%s%s%s%s\n", "(B)", "(elements)", "", "", "", units, units, stampUnits,
		rivalUnits)
}

// types returns the types of the rows, in their order.
func (r *Report) types() string {
	var names []string
	for _, row := range r.Rows {
		if name := row.DType.String(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

func withDriver(driver string) string {
	if driver == "" {
		return ""
	}
	return ", " + driver
}

func spaces(s string, on bool) string {
	if on {
		return s
	}
	return ""
}
