// Package lsp is a language server for .mscl files, .topo files (machines) and compiled programs. A Server takes
// messages of the Language Server Protocol and sends answers. It works with any transport: Serve uses a stream, and
// package lsp/wasm passes messages as values.
//
// Documents change when their notifications arrive. One goroutine answers requests in order. Each answer is for the
// version of the document that was the newest when the request arrived. If a newer version has arrived since, or the
// request was cancelled, the answer is the protocol's error for this case. If nobody edits for the
// time Idle, another goroutine proves the programs.
package lsp

import (
	"encoding/json"
	"sync"
	"time"

	"mscclc/lang"
)

// Idle is how long nobody edits a document before it is proven.
const Idle = 300 * time.Millisecond

// Bounds of what a server holds.
const (
	maxDocument  = 8 << 20 // bytes
	maxDocuments = 1 << 10
	maxQueue     = 1 << 12 // requests that wait
)

// Options say what a server may use.
type Options struct {
	// Send takes a message of the server's. Calls follow each other.
	Send func(message []byte)

	// Read returns the text of a file that is not open in the editor; nil has none.
	Read func(path string) ([]byte, error)

	// List returns the .mscl files in a folder and below it; nil has none.
	List func(folder string) []string

	// After calls f after a time, unless stop is called before that; nil is time.AfterFunc.
	After func(d time.Duration, f func()) (stop func())
}

// A Server is a language server of one editor.
type Server struct {
	opt Options

	sending sync.Mutex

	mu       sync.Mutex
	wake     *sync.Cond // something below changed
	docs     map[string]*snapshot
	stop     map[string]func() // of the timers until proofs, by document
	queue    []*job            // requests, and checks of documents
	answers  *job              // what is answered now, or nil
	prove    []*snapshot       // that wait for a proof
	busy     int               // goroutines that do something
	state    state
	root     string                 // the folder of the workspace
	machine  string                 // that the lens simulates on
	bytes    int64                  // of a call that it simulates
	scenes   bool                   // only scenes prove
	asked    map[string]lang.Params // of the last scene of each document, where scenes is set
	refresh  bool                   // the editor asks for lenses and hints anew where it is asked to
	requests int                    // of the server's own
	workers  sync.WaitGroup
}

type state uint8

const (
	fresh state = iota
	running
	shutDown
	closed
)

// A job is a request, or where method is "" the check of a document.
type job struct {
	id        json.RawMessage
	method    string
	params    documentParams
	doc       *snapshot
	cancelled bool
}

// NewServer returns a server that works until Close.
func NewServer(opt Options) *Server {
	if opt.After == nil {
		opt.After = func(d time.Duration, f func()) func() {
			t := time.AfterFunc(d, f)
			return func() { t.Stop() }
		}
	}
	s := &Server{opt: opt, docs: map[string]*snapshot{}, asked: map[string]lang.Params{}, stop: map[string]func(){},
		machine: "h200", bytes: 1 << 20}
	s.wake = sync.NewCond(&s.mu)
	s.workers.Add(2)
	go s.answer()
	go s.proveAll()
	return s
}

// Close ends the server's goroutines, after what they do now.
func (s *Server) Close() {
	s.mu.Lock()
	s.state = closed
	for _, stop := range s.stop {
		stop()
	}
	s.wake.Broadcast()
	s.mu.Unlock()
	s.workers.Wait()
}

// Wait returns when nothing is left to be done but what a timer starts.
func (s *Server) Wait() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.state != closed && (s.busy > 0 || len(s.queue) > 0 || len(s.prove) > 0) {
		s.wake.Wait()
	}
}

// Receive takes a message of the editor's. It reports whether the editor asked the server to end.
func (s *Server) Receive(raw []byte) (ended bool) {
	var m message
	if err := json.Unmarshal(raw, &m); err != nil {
		s.fail(json.RawMessage("null"), &rpcError{parseError, "the message is no JSON of a request"})
		return false
	}
	isRequest := len(m.ID) > 0 && string(m.ID) != "null"
	switch {
	case m.Method == "exit":
		return true
	case m.Method == "": // the answer to a request of ours
	case isRequest:
		s.request(&m)
	default:
		s.notification(&m)
	}
	return false
}

// request takes a request.
func (s *Server) request(m *message) {
	s.mu.Lock()
	state := s.state
	s.mu.Unlock()
	switch {
	case m.Method == "initialize" && state == fresh:
		s.initialize(m)
		return
	case state == fresh:
		s.fail(m.ID, &rpcError{notInitialized, "initialize comes first"})
		return
	case state != running || m.Method == "initialize":
		s.fail(m.ID, &rpcError{invalidRequest, "the server is not in a state for " + m.Method})
		return
	case m.Method == "shutdown":
		s.mu.Lock()
		s.state = shutDown
		s.mu.Unlock()
		s.reply(m.ID, json.RawMessage("null"))
		return
	case m.Method == "mscclc/catalog":
		s.catalog(m)
		return
	case m.Method == "mscclc/trace":
		s.trace(m)
		return
	case handlers[m.Method] == nil:
		s.fail(m.ID, &rpcError{methodNotFound, "there is no method " + m.Method})
		return
	}
	j := &job{id: m.ID, method: m.Method}
	if err := json.Unmarshal(m.Params, &j.params); err != nil {
		s.fail(m.ID, &rpcError{invalidParams, "the parameters do not fit " + m.Method})
		return
	}
	s.mu.Lock()
	j.doc = s.docs[j.params.TextDocument.URI]
	full := len(s.queue) >= maxQueue
	if j.doc != nil && !full {
		s.queue = append(s.queue, j)
		s.wake.Broadcast()
	}
	s.mu.Unlock()
	switch {
	case full:
		s.fail(m.ID, &rpcError{requestFailed, "too many requests wait"})
	case j.doc == nil:
		s.fail(m.ID, &rpcError{invalidParams, "the document is not open"})
	}
}

// initialize answers the first request.
func (s *Server) initialize(m *message) {
	var p struct {
		RootURI string `json:"rootUri"`
		Options struct {
			Machine string `json:"machine"`
			Bytes   int64  `json:"bytes"`
			Scenes  bool   `json:"scenes"`
		} `json:"initializationOptions"`
		Capabilities struct {
			Workspace struct {
				CodeLens struct {
					Refresh bool `json:"refreshSupport"`
				} `json:"codeLens"`
			} `json:"workspace"`
		} `json:"capabilities"`
	}
	if err := json.Unmarshal(m.Params, &p); err != nil {
		s.fail(m.ID, &rpcError{invalidParams, "the parameters do not fit initialize"})
		return
	}
	s.mu.Lock()
	s.state, s.refresh, s.scenes = running, p.Capabilities.Workspace.CodeLens.Refresh, p.Options.Scenes
	if p.RootURI != "" {
		s.root = pathOf(p.RootURI)
	}
	if p.Options.Machine != "" {
		s.machine = p.Options.Machine
	}
	if p.Options.Bytes > 0 {
		s.bytes = p.Options.Bytes
	}
	s.mu.Unlock()
	s.reply(m.ID, capabilities())
}
