package cli

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// patience is how long work may take before its progress is shown, and logPatience how long before a line reports it
// where there is no terminal.
const (
	patience    = time.Second
	logPatience = 15 * time.Second
)

// A Progress shows how far long work is: on a terminal by a bar, elsewhere by a line now and then. Where
// work is short, and with --json, it shows nothing.
type Progress struct {
	w     io.Writer // nil where nothing is shown
	lines bool
	what  string
	Total int
	done  int
	start time.Time

	mu  sync.Mutex
	bar *progressbar.ProgressBar
}

// Progress returns a meter of total steps of work, which it calls what. It is silent under --json.
func (a *App) Progress(total int, what string) *Progress {
	p := &Progress{what: what, Total: total, start: time.Now()}
	if !a.JSON {
		p.w, p.lines = a.Stderr, !IsTerminal(a.Stderr)
	}
	return p
}

// Watch draws the bar now and then, until stop is called, which clears it.
func (p *Progress) Watch() (stop func()) {
	if p.w == nil {
		return func() {}
	}
	end := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		period, show := patience/4, p.Draw
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
		p.Clear()
	})
}

// Step says that one more is done.
func (p *Progress) Step() {
	p.mu.Lock()
	p.done++
	p.mu.Unlock()
	p.Draw()
}

// Set says how much is done, of how much, as another process reports it.
func (p *Progress) Set(done, total int) {
	p.mu.Lock()
	if p.bar != nil && total != p.Total {
		p.bar.ChangeMax(total)
	}
	p.done, p.Total = done, total
	p.mu.Unlock()
	p.Draw()
}

// Draw shows the bar where work has lasted.
func (p *Progress) Draw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.w == nil || p.lines || p.Total == 0 || time.Since(p.start) < patience {
		return
	}
	if p.bar == nil {
		p.bar = progressbar.NewOptions(p.Total, progressbar.OptionSetWriter(p.w), progressbar.OptionSetDescription(p.what),
			progressbar.OptionShowCount(), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
	}
	p.bar.Set(p.done)
}

// log says in a line how far work is.
func (p *Progress) log() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.Total == 0 {
		return // nobody has said how much it is
	}
	after, left := time.Since(p.start).Seconds(), ""
	if p.done > 0 {
		left = fmt.Sprintf(", about %.0f s left", after/float64(p.done)*float64(p.Total-p.done))
	}
	fmt.Fprintf(p.w, "%s: %d of %d after %.0f s%s\n", p.what, p.done, p.Total, after, left)
}

// Clear takes the bar off the screen, so that something can be printed.
func (p *Progress) Clear() { p.Over(func() {}) }

// Over prints something where the bar stands.
func (p *Progress) Over(print func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		p.bar.Clear()
	}
	print()
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	if p, ok := w.(*product); ok {
		w = p.Writer
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
