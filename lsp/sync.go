package lsp

import (
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"mscclc/algorithms"
	"mscclc/files"
)

// This file follows the documents of the editor: it checks those that change, and has those proven that nobody edits.

// notification takes a notification. Those that are unknown, or of a document that is not open, are ignored.
func (s *Server) notification(m *message) {
	if m.Method == "$/cancelRequest" {
		s.cancel(m.Params)
		return
	}
	var p documentParams
	if json.Unmarshal(m.Params, &p) != nil {
		return
	}
	if s.follow(m.Method, &p) {
		s.notify("textDocument/publishDiagnostics", published{URI: p.TextDocument.URI, Diagnostics: []diagnostic{}})
	}
}

// follow does what a notification says of a document. It reports whether that was closed.
func (s *Server) follow(method string, p *documentParams) (isClosed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != running {
		return false
	}
	doc := p.TextDocument
	old := s.docs[doc.URI]
	switch method {
	case "textDocument/didOpen":
		if old != nil || len(s.docs) < maxDocuments {
			s.replace(doc.URI, doc.Version, []byte(doc.Text))
		}
	case "textDocument/didChange":
		if old != nil && doc.Version >= old.version {
			s.replace(doc.URI, doc.Version, old.changed(p.Changes))
		}
	case "textDocument/didClose":
		if old != nil {
			s.forget(doc.URI)
			delete(s.docs, doc.URI)
			delete(s.asked, doc.URI)
			return true
		}
	}
	return false
}

// cancel cancels a request that waits or that is being answered.
func (s *Server) cancel(params json.RawMessage) {
	var p struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range append(s.queue[:len(s.queue):len(s.queue)], s.answers) {
		if j != nil && j.method != "" && string(j.id) == string(p.ID) {
			j.cancelled = true
		}
	}
}

// replace makes text the newest version of a document. The caller holds mu. A document too large to be read has an
// empty text, of which nothing is said.
func (s *Server) replace(uri string, version int, text []byte) {
	if len(text) > maxDocument {
		text = nil
	}
	s.forget(uri)
	d := newSnapshot(s, uri, version, text)
	s.docs[uri] = d
	s.schedule(d)
	if !d.isSource() {
		return
	}
	for _, o := range s.docs { // which may import it
		if o != d && o.isSource() && o.importing() {
			again := newSnapshot(s, o.uri, o.version, o.text)
			s.forget(o.uri)
			s.docs[o.uri] = again
			s.schedule(again)
		}
	}
}

// forget takes what waits to be done with a document out of the queues. The caller holds mu.
func (s *Server) forget(uri string) {
	if stop := s.stop[uri]; stop != nil {
		stop()
		delete(s.stop, uri)
	}
	s.queue = slices.DeleteFunc(s.queue, func(j *job) bool { return j.method == "" && j.doc.uri == uri })
	s.prove = slices.DeleteFunc(s.prove, func(d *snapshot) bool { return d.uri == uri })
}

// schedule has a document checked now, and proven later. The caller holds mu.
func (s *Server) schedule(d *snapshot) {
	s.queue = append(s.queue, &job{doc: d})
	if s.scenes {
		s.wake.Broadcast()
		return
	}
	s.stop[d.uri] = s.opt.After(Idle, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.docs[d.uri] == d && s.state == running {
			s.prove = append(s.prove, d)
			s.wake.Broadcast()
		}
	})
	s.wake.Broadcast()
}

// current reports whether d is the newest version of its document.
func (s *Server) current(d *snapshot) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.docs[d.uri] == d
}

// check publishes what is wrong with d as far as running it shows.
func (s *Server) check(d *snapshot) {
	if s.current(d) {
		s.publish(d, d.analysis().problems)
	}
}

// proveAll proves documents, one after the other.
func (s *Server) proveAll() {
	defer s.workers.Done()
	for {
		s.mu.Lock()
		for len(s.prove) == 0 && s.state != closed {
			s.wake.Wait()
		}
		if s.state == closed {
			s.mu.Unlock()
			return
		}
		d := s.prove[0]
		s.prove = slices.Delete(s.prove, 0, 1)
		s.busy++
		s.mu.Unlock()
		s.guarded(func() { s.proveOne(d) })
		s.idle()
	}
}

// proveOne proves d, and publishes what the proof found.
func (s *Server) proveOne(d *snapshot) {
	p := d.prove()
	if p == nil || !s.current(d) {
		return
	}
	s.publish(d, p.problems)
	s.mu.Lock()
	refresh := s.refresh
	s.requests++
	id := strconv.Itoa(s.requests)
	s.mu.Unlock()
	if refresh {
		s.send(&message{ID: json.RawMessage(`"mscclc-` + id + `"`), Method: "workspace/codeLens/refresh"})
	}
}

// errNoFile is the error of a file that the server may not read.
var errNoFile = errors.New("no such file")

// file returns the text of a file: as the editor has it, or else as it is stored.
func (s *Server) file(path string) ([]byte, error) {
	s.mu.Lock()
	d := s.docs[uriOf(path)]
	s.mu.Unlock()
	if d != nil {
		return d.text, nil
	}
	if s.opt.Read == nil { // then the catalog is all that there is
		if text, err := algorithms.Open(strings.TrimPrefix(path, "/")); err == nil {
			return text, nil
		}
		return nil, &fs.PathError{Op: "open", Path: path, Err: errors.Join(errNoFile, fs.ErrNotExist)}
	}
	return s.opt.Read(path)
}

// ReadFile reads a library as commands do: a regular file of at most a MiB whose name ends in .mscl.
func ReadFile(path string) ([]byte, error) { return files.ReadLibrary(path, nil, 1<<20) }
