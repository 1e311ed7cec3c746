package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// patience is how long work may take before its progress is shown, and logPatience how long before a line tells of it
// where there is no terminal.
const (
	patience    = time.Second
	logPatience = 15 * time.Second
)

// A progress shows how far long work is: on a terminal by a bar, elsewhere by a line now and then. Where
// work is short, and with --json, it shows nothing.
type progress struct {
	w     io.Writer // nil where nothing is shown
	lines bool
	what  string
	total int
	done  int
	start time.Time

	mu  sync.Mutex
	bar *progressbar.ProgressBar
}

func (a *App) progress(total int, what string) *progress {
	p := &progress{what: what, total: total, start: time.Now()}
	if !a.json {
		p.w, p.lines = a.stderr, !isTerminal(a.stderr)
	}
	return p
}

// watch draws the bar now and then, until stop is called, which clears it.
func (p *progress) watch() (stop func()) {
	if p.w == nil {
		return func() {}
	}
	end := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		period, show := patience/4, p.draw
		if p.lines {
			period, show = logPatience, p.log
		}
		for tick := time.NewTicker(period); ; {
			select {
			case <-tick.C:
				show()
			case <-end:
				tick.Stop()
				return
			}
		}
	})
	return sync.OnceFunc(func() {
		close(end)
		done.Wait()
		p.clear()
	})
}

// step says that one more is done.
func (p *progress) step() {
	p.mu.Lock()
	p.done++
	p.mu.Unlock()
	p.draw()
}

// draw shows the bar where work has lasted.
func (p *progress) draw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.w == nil || p.lines || time.Since(p.start) < patience {
		return
	}
	if p.bar == nil {
		p.bar = progressbar.NewOptions(p.total, progressbar.OptionSetWriter(p.w), progressbar.OptionSetDescription(p.what),
			progressbar.OptionShowCount(), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
	}
	p.bar.Set(p.done)
}

// log says in a line how far work is.
func (p *progress) log() {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.w, "%s: %d of %d after %.0f s\n", p.what, p.done, p.total, time.Since(p.start).Seconds())
}

// clear takes the bar off the screen, so that something can be printed.
func (p *progress) clear() { p.over(func() {}) }

// over prints something where the bar stands.
func (p *progress) over(print func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		p.bar.Clear()
	}
	print()
}

func isTerminal(w io.Writer) bool {
	if p, ok := w.(*product); ok {
		w = p.Writer
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
