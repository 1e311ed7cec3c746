// Package browser drives the page in Chromium, as a reader does.
package browser

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"mscclc/internal/covering"
)

// policy is what the server of mscclc play says that the page may do.
const policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; " +
	"connect-src 'self'; worker-src 'self' blob:; img-src 'self' data:; font-src 'self'"

// A workbench is the site as build.sh makes it, on a server, and a browser.
type workbench struct {
	folder string
	url    string
	ctx    context.Context
	err    error
}

var (
	bench     workbench
	benchOnce sync.Once
	closers   []func()
)

func TestMain(m *testing.M) {
	code := m.Run()
	for i := len(closers) - 1; i >= 0; i-- {
		closers[i]()
	}
	os.Exit(code)
}

// theBench returns the workbench. It skips the test where the machine has no browser or no npm.
func theBench(t *testing.T) *workbench {
	t.Helper()
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no chromium")
	}
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("there is no npm")
	}
	benchOnce.Do(func() { bench.err = bench.start(browser) })
	if bench.err != nil {
		t.Fatal(bench.err)
	}
	return &bench
}

// start builds the site, serves it and starts the browser.
func (b *workbench) start(browser string) error {
	folder, err := os.MkdirTemp("", "mscclc-page")
	if err != nil {
		return err
	}
	closers = append(closers, func() { os.RemoveAll(folder) })
	b.folder = folder
	if err := build(folder); err != nil {
		return err
	}
	files := http.FileServer(http.Dir(folder))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		files.ServeHTTP(w, r)
	}))
	closers = append(closers, server.Close)
	b.url = server.URL
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(browser),
		chromedp.Flag("hide-scrollbars", true), chromedp.Flag("force-prefers-reduced-motion", true))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	closers = append(closers, stop)
	ctx, stop := chromedp.NewContext(allocator)
	closers = append(closers, stop)
	b.ctx = ctx
	return chromedp.Do(ctx, chromedp.Navigate("about:blank"))
}

// siteFiles are what build.sh writes, and what play/site has.
var siteFiles = []string{"app.css", "app.js", "index.html", "licences.txt", "player.html", "player.js", "worker.js"}

// axeFile is what tests of access run in a page.
const axeFile = "axe.min.js"

// build writes the whole site into folder.
func build(folder string) error {
	page := exec.Command("sh", "../page/build.sh", folder, filepath.Join(folder, axeFile))
	if out, err := page.CombinedOutput(); err != nil {
		return fmt.Errorf("build.sh: %v\n%s", err, out)
	}
	wasm := filepath.Join(folder, "mscclc.wasm")
	engine := exec.Command("go", "build", "-trimpath", "-gcflags=all=-l", "-ldflags=-s -w", "-o", wasm, "mscclc/lsp/wasm")
	engine.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0")
	if out, err := engine.CombinedOutput(); err != nil {
		return fmt.Errorf("the engine: %v\n%s", err, out)
	}
	if err := compress(wasm, wasm+".gz"); err != nil {
		return err
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return err
	}
	const glue = "wasm_exec.js"
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", glue))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, glue), text, 0o666)
}

func compress(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	w, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := io.Copy(w, in); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	return os.Remove(from)
}

// A tab is a page in the browser.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu     sync.Mutex
	faults []string // errors on the console
}

// open opens a page of the site, or of another address, in a tab of its own. At the test's end, no error may be on the
// console.
func (b *workbench) open(t *testing.T, address string) *tab {
	t.Helper()
	ctx, stop := chromedp.NewContext(b.ctx)
	p := &tab{t: t, ctx: ctx}
	t.Cleanup(func() {
		p.mu.Lock()
		for _, fault := range p.faults {
			t.Errorf("on the console: %s", fault)
		}
		p.mu.Unlock()
		stop()
	})
	if err := chromedp.Listen(ctx, p.hear); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(address, "://") {
		address = b.url + "/" + address
	}
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(1440, 1000), chromedp.Navigate(address)); err != nil {
		t.Fatal(err)
	}
	return p
}

// hear keeps what is wrong.
func (p *tab) hear(event any) {
	fault := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		fault = e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			fault += " " + e.ExceptionDetails.Exception.Description
		}
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" || e.Type == "warning" {
			for _, arg := range e.Args {
				fault += string(arg.Value) + arg.Description + " "
			}
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == "error" || e.Entry.Level == "warning" {
			fault = e.Entry.Text + " " + e.Entry.URL
		}
	}
	if fault != "" {
		p.mu.Lock()
		p.faults = append(p.faults, fault)
		p.mu.Unlock()
	}
}

// evaluate returns the value of an expression of JavaScript, or of a promise.
func evaluate[T any](p *tab, expression string) T {
	p.t.Helper()
	awaited := func(e *runtime.EvaluateParams) { yes := true; e.AwaitPromise = &yes }
	value, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression, awaited))
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// wait waits until an expression is true. What it says at the end of the patience is the message.
func (p *tab) wait(expression string) {
	p.t.Helper()
	end := time.Now().Add(covering.Patience(10 * time.Second))
	for !evaluate[bool](p, "!!("+expression+")") {
		if time.Now().After(end) {
			p.t.Fatalf("%s does not become true; the page says %q", expression, p.says())
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// says returns the verdict that is shown.
func (p *tab) says() string {
	p.t.Helper()
	return evaluate[string](p, `document.body.dataset.state + ": " + (document.querySelector("#verdict, .starting")?.innerText ?? "")`)
}

// shown waits until the page shows what its text is.
func (p *tab) shown() {
	p.t.Helper()
	p.wait(`["shown", "failed", "trace"].includes(document.body.dataset.state) &&
  document.querySelector("#machine").options.length > 0`)
}

// quote writes a string of JavaScript.
func quote(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(b)
}
