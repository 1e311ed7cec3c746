package exchange

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// reporterWait is how long processes that have failed wait for each other.
const reporterWait = 2 * time.Second

// Reporter returns the process that is to report err, with which this process ends, so that not all of a job do: the
// first of those that have failed by themselves with the same text. The loss of a process is reported by the first of
// the others. It is this process if the others do not say within 2 s that they have failed, too. So a process that
// fails calls Reporter once, at its end.
//
// A process calls done once it has reported err, or has left that to the reporter. It returns when all have, or after
// 2 s: a launcher ends the others as soon as one process has exited.
func (x *Member) Reporter(ctx context.Context, err error) (reporter int, done func()) {
	alone := func() {}
	var loss *lossError
	if lost := x.Lost(); errors.As(lost, &loss) {
		return loss.reporter(), alone
	} else if lost != nil {
		return x.index, alone
	}
	type end struct {
		From int // the process that notified this one of the failure, or -1
	}
	own := word[end]{Failed: oneLine(err), Ends: true, Says: end{From: -1}}
	if f := x.failed.Load(); f != nil && strings.Contains(own.Failed, f.Error()) {
		own.Says.From = f.Process
	}
	blob, _ := json.Marshal(&own) // of texts and numbers
	meet := func(blob []byte) ([][]byte, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reporterWait)
		defer cancel()
		return x.AllGather(ctx, blob)
	}
	all, err := meet(blob)
	if err != nil {
		return x.index, alone
	}
	done = func() { meet(nil) }
	ends := make([]word[end], len(all))
	for i, blob := range all {
		if json.Unmarshal(blob, &ends[i]) != nil {
			ends[i] = word[end]{}
		}
	}
	text := own.Failed
	if from := own.Says.From; from >= 0 && from < len(ends) && ends[from].Failed != "" {
		text = ends[from].Failed
	}
	for i := range ends {
		if ends[i].Failed == text && (ends[i].Says.From < 0 || i == x.index) {
			return i, done
		}
	}
	return x.index, done
}
