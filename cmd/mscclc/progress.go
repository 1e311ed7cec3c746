package main

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// patience is how long work may take before its progress is shown.
const patience = time.Second

// A progress shows on a terminal how far long work is. Elsewhere, and where
// work is short, it shows nothing.
type progress struct {
	w     io.Writer // nil where nothing is shown
	what  string
	total int
	done  int
	start time.Time
	bar   *progressbar.ProgressBar
}

func (a *app) progress(total int, what string) *progress {
	p := &progress{what: what, total: total, start: time.Now()}
	if isTerminal(a.stderr) && !a.json {
		p.w = a.stderr
	}
	return p
}

// step says that one more is done.
func (p *progress) step() {
	p.done++
	p.draw()
}

// draw shows the bar where work has lasted.
func (p *progress) draw() {
	if p.w == nil || time.Since(p.start) < patience {
		return
	}
	if p.bar == nil {
		p.bar = progressbar.NewOptions(p.total, progressbar.OptionSetWriter(p.w), progressbar.OptionSetDescription(p.what),
			progressbar.OptionShowCount(), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
	}
	p.bar.Set(p.done)
}

// clear takes the bar off the screen, so that something can be printed.
func (p *progress) clear() {
	if p.bar != nil {
		p.bar.Clear()
	}
}

func isTerminal(w io.Writer) bool {
	if p, ok := w.(*product); ok {
		w = p.Writer
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
