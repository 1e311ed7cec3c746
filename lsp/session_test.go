package lsp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"time"
)

// A session is an editor for tests. Its timers end when it says so.
type session struct {
	t      testing.TB
	server *Server
	files  map[string]string

	mu        sync.Mutex
	answers   map[string]json.RawMessage // by id: a message's result
	failures  map[string]*rpcError
	published map[string]published // the last of each document
	faults    int
	timers    []*timer
	requests  int
	sent      map[string]int // versions, by document
}

type timer struct {
	f       func()
	stopped bool
}

func newSession(t testing.TB, files map[string]string) *session {
	s := &session{t: t, files: files, answers: map[string]json.RawMessage{}, failures: map[string]*rpcError{},
		published: map[string]published{}, sent: map[string]int{}}
	s.server = NewServer(Options{Send: s.receive, After: s.after,
		Read: func(path string) ([]byte, error) {
			if text, ok := files[path]; ok {
				return []byte(text), nil
			}
			return nil, &fs.PathError{Op: "open", Path: path, Err: errors.Join(fs.ErrNotExist)}
		},
		List: func(folder string) (list []string) {
			for name := range files {
				list = append(list, name)
			}
			return list
		}})
	t.Cleanup(s.server.Close)
	return s
}

// start begins a session that is initialized.
func start(t testing.TB, files map[string]string) *session {
	s := newSession(t, files)
	s.call("initialize", map[string]any{"rootUri": "file:///src"})
	s.note("initialized", map[string]any{})
	return s
}

func (s *session) after(_ time.Duration, f func()) func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &timer{f: f}
	s.timers = append(s.timers, t)
	return func() {
		s.mu.Lock()
		t.stopped = true
		s.mu.Unlock()
	}
}

func (s *session) receive(raw []byte) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params published       `json:"params"`
		Result json.RawMessage `json:"result"`
		Error  *rpcError       `json:"error"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		s.t.Errorf("%s: %v", raw, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case m.Method == "textDocument/publishDiagnostics":
		s.published[m.Params.URI] = m.Params
	case m.Method == "window/logMessage":
		s.faults++
	case m.Method != "":
	case m.Error != nil:
		s.failures[string(m.ID)] = m.Error
	default:
		s.answers[string(m.ID)] = m.Result
	}
}

func (s *session) write(m map[string]any) {
	m["jsonrpc"] = "2.0"
	raw, err := json.Marshal(m)
	if err != nil {
		s.t.Fatal(err)
	}
	s.server.Receive(raw)
}

func (s *session) note(method string, params any) {
	s.write(map[string]any{"method": method, "params": params})
}

// ask sends a request and returns its id.
func (s *session) ask(method string, params any) string {
	s.requests++
	s.write(map[string]any{"id": s.requests, "method": method, "params": params})
	return fmt.Sprint(s.requests)
}

// call sends a request, and returns the answer or the error.
func (s *session) call(method string, params any) (json.RawMessage, *rpcError) {
	id := s.ask(method, params)
	s.server.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answers[id], s.failures[id]
}

// open opens a document, and returns the position of § in the text, which is left out.
func (s *session) open(uri, text string) map[string]any {
	text, at := marked(text)
	s.sent[uri]++
	s.note("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": uri, "languageId": "mscl",
		"version": s.sent[uri], "text": text}})
	s.server.Wait()
	return map[string]any{"textDocument": map[string]any{"uri": uri}, "position": at}
}

// marked takes § out of a text, and returns where it was.
func marked(text string) (string, position) {
	before, after, _ := strings.Cut(text, "§")
	d := newSnapshot(nil, "", 0, []byte(before))
	return before + after, d.position(len(before))
}

// change replaces a whole document.
func (s *session) change(uri, text string) {
	s.sent[uri]++
	s.note("textDocument/didChange", map[string]any{"textDocument": map[string]any{"uri": uri, "version": s.sent[uri]},
		"contentChanges": []any{map[string]any{"text": text}}})
}

// idle ends the timers, and waits for the proofs.
func (s *session) idle() {
	s.server.Wait()
	s.mu.Lock()
	list := s.timers
	s.timers = nil
	s.mu.Unlock()
	for _, t := range list {
		s.mu.Lock()
		stopped := t.stopped
		s.mu.Unlock()
		if !stopped {
			t.f()
		}
	}
	s.server.Wait()
}

// shown returns what is published of a document, a line each.
func (s *session) shown(uri string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, d := range s.published[uri].Diagnostics {
		fmt.Fprintf(&b, "%d:%d-%d:%d %s: %s\n", d.Range.Start.Line, d.Range.Start.Character, d.Range.End.Line,
			d.Range.End.Character, d.Code, d.Message)
		for _, r := range d.Related {
			fmt.Fprintf(&b, "  %d:%d %s\n", r.Location.Range.Start.Line, r.Location.Range.Start.Character, r.Message)
		}
	}
	return b.String()
}

// ring is a program that is right.
const ring = `# A ring.
algorithm ring(ranks = 4)
collective allreduce(ranks, inplace = true)

for i in 0..ranks {
    let c = chunk(i, input, i)
    for step in 1..ranks { c = chunk((i + step) % ranks, input, i).reduce(c) }
    for step in 0..ranks - 1 { c = c.copy((i + step) % ranks) }
}
`
