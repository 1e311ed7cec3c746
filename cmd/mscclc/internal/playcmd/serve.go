package playcmd

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/ir/diag"
)

// policy lets the page load nothing but itself, and run its WebAssembly.
const policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self' blob:; connect-src 'self'; " +
	"style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; base-uri 'none'; form-action 'none'"

// start serves or writes the page with FILE, or with none.
func start(ctx context.Context, a *cli.App, arg string, f *playFlags) error {
	if f.port < 0 || f.port > 65535 {
		return cli.Usagef("--port takes a number from 0 to 65535, not %d", f.port)
	}
	if f.out == "" && cli.IsStdin(arg) {
		return cli.Usagef("play serves until it is interrupted: give it a file, not standard input")
	}
	opened, err := openedBy(a, arg, f)
	if err != nil {
		return err
	}
	all, err := page(a, opened)
	if err != nil {
		return err
	}
	if f.out != "" {
		return writePage(a, f.out, all)
	}
	return serve(ctx, a, f, all)
}

// serve serves the page on this machine until the command is interrupted.
func serve(ctx context.Context, a *cli.App, f *playFlags, all map[string][]byte) error {
	ctx, stop := cli.EndsBy(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(f.port)))
	if err != nil {
		d := diag.New(diag.Unavailable, diag.Span{}, "the page cannot be served: %v", err)
		return diag.List{d.WithHint("--port 0 takes any port that is free")}
	}
	url := "http://" + listener.Addr().String() + "/"
	if a.JSON {
		if err := a.WriteJSON(Document{Schema: cli.Schema, URL: url, Noted: a.Notes.List()}); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(a.Stdout, "the page is at %s until this command is interrupted\n", url)
	}
	server := &http.Server{Handler: handler(listener.Addr().String(), all), ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	if !f.noOpen {
		open(url)
	}
	select {
	case err := <-ended:
		return cli.Unavailable("the page is served no longer: %v", err)
	case <-ctx.Done():
	}
	if err := server.Close(); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// handler serves files by their names. A request must name this machine: pages of others, whose names lead here, get
// nothing.
func handler(address string, all map[string][]byte) http.Handler {
	_, port, _ := net.SplitHostPort(address)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := path.Clean(r.URL.Path)[1:]
		if name == "" {
			name = "index.html"
		}
		text, known := all[name]
		switch {
		case r.Host != address && r.Host != "localhost:"+port:
			http.Error(w, "this page is for the machine that serves it", http.StatusForbidden)
			return
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			http.Error(w, "the page is only read", http.StatusMethodNotAllowed)
			return
		case !known:
			http.NotFound(w, r)
			return
		}
		h := w.Header()
		h.Set("Content-Type", typeOf(name))
		h.Set("Content-Length", strconv.Itoa(len(text)))
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-cache")
		if r.Method == http.MethodGet {
			w.Write(text) // whose error is the browser's
		}
	})
}

// typeOf returns the type of a file's content. That of the system's table may differ.
func typeOf(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".txt":
		return "text/plain; charset=utf-8"
	case ".gz":
		return "application/gzip"
	}
	return mime.TypeByExtension(path.Ext(name))
}

// open opens a page in the user's browser, where there is one. The command has printed where the page is.
func open(url string) {
	var cmd *exec.Cmd
	switch runtime.GOOS {
	case "darwin":
		cmd = exec.Command("open", url)
	case "windows":
		cmd = exec.Command("rundll32", "url.dll,FileProtocolHandler", url)
	default:
		if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
			return // a browser would take the terminal
		}
		cmd = exec.Command("xdg-open", url)
	}
	if cmd.Start() == nil {
		go cmd.Wait()
	}
}
