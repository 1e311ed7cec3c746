package verifycmd

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/devices"
	"mscclc/executor/cpu"
	"mscclc/executor/replay"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/verify"
)

// A replayReport is the replay of one problem.
type replayReport struct {
	Code diag.Code `json:"code"`
	Text string    `json:"text"`
	replay.Result
}

// replays runs what the counterexamples of a verdict on p say, on the CPU.
func replays(p *either.Program, r verify.Report) ([]replayReport, error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	list := []replayReport{}
	for _, w := range r.Counterexamples {
		if !w.Problem.Code.Replayable() {
			continue
		}
		seen, err := replay.Run(ctx, p, w, cpu.Device())
		if err != nil {
			return nil, devices.Impossible(err)
		}
		list = append(list, replayReport{w.Problem.Code, w.Problem.Text, seen})
	}
	return list, nil
}

// printReplays prints, under the verdict on p, what the replays of its problems show.
// One that does not show its problem is a fault of mscclc.
func printReplays(a *cli.App, p *either.Program, r verify.Report) error {
	list, err := replays(p, r)
	if err != nil {
		return err
	}
	for _, one := range list {
		fmt.Fprintf(a.Stdout, "replay of %s: %s\n", one.Code, diag.Printable(one.Text))
		for _, line := range one.Lines {
			fmt.Fprintf(a.Stdout, "  %s\n", diag.Printable(line))
		}
	}
	return unshown(p, list)
}

// unshown returns an error where some replay does not show its problem. The CPU does a step of a one-sided program at
// once, and with one thread, so that it need not show all of their races.
func unshown(p *either.Program, list []replayReport) error {
	for _, one := range list {
		if !one.Shown && (p.OneSided == nil || one.Code != diag.Race) {
			return diag.List{diag.New(diag.Internal, diag.Span{}, "the replay does not show the %s: %s", one.Code, one.Text).
				WithHint("this is a fault of mscclc; please report it with the file")}
		}
	}
	return nil
}
