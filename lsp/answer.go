package lsp

import (
	"encoding/json"
	"fmt"
)

// This file answers requests in their order, of the documents as they were when the requests arrived.

// answer answers requests and checks documents, one after the other.
func (s *Server) answer() {
	defer s.workers.Done()
	for {
		j := s.next()
		if j == nil {
			return
		}
		if j.method == "" {
			s.guarded(func() { s.check(j.doc) })
		} else {
			s.respond(j)
		}
		s.idle()
	}
}

// next waits for a job, and returns nil when the server is closed.
func (s *Server) next() *job {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.queue) == 0 && s.state != closed {
		s.wake.Wait()
	}
	if s.state == closed {
		return nil
	}
	j := s.queue[0]
	s.queue[0] = nil
	s.queue, s.answers = s.queue[1:], j
	s.busy++
	return j
}

// idle says that a goroutine is done with something.
func (s *Server) idle() {
	s.mu.Lock()
	s.busy--
	s.wake.Broadcast()
	s.mu.Unlock()
}

// respond answers a request.
func (s *Server) respond(j *job) {
	if err := s.outdated(j); err != nil {
		s.fail(j.id, err)
		return
	}
	var result any
	var err error
	if problem := s.guarded(func() { result, err = handlers[j.method](j.doc, &j.params) }); problem != nil {
		err = problem
	}
	if late := s.outdated(j); late != nil {
		err = late
	}
	if err == nil {
		s.reply(j.id, result)
		return
	}
	failure, ok := err.(*rpcError)
	if !ok {
		failure = &rpcError{requestFailed, err.Error()}
	}
	s.fail(j.id, failure)
}

// outdated returns the error of a request that is cancelled, or whose document has changed.
func (s *Server) outdated(j *job) *rpcError {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case j.cancelled:
		return &rpcError{requestCancelled, "the request was cancelled"}
	case s.docs[j.doc.uri] != j.doc:
		return &rpcError{contentModified, "the document has changed"}
	}
	return nil
}

// guarded runs f. A panic in it is a fault of mscclc, which ends no session.
func (s *Server) guarded(f func()) (problem error) {
	defer func() {
		if r := recover(); r != nil {
			text := fmt.Sprintf("a fault of mscclc: %v", r)
			problem = &rpcError{internalError, text}
			s.notify("window/logMessage", map[string]any{"type": 1, "message": text})
		}
	}()
	f()
	return nil
}

func (s *Server) reply(id json.RawMessage, result any) {
	if result == nil {
		result = json.RawMessage("null")
	}
	s.send(&message{ID: id, Result: result})
}

func (s *Server) fail(id json.RawMessage, err *rpcError) { s.send(&message{ID: id, Error: err}) }

func (s *Server) notify(method string, params any) {
	raw, err := json.Marshal(params)
	if err != nil {
		panic(err) // they are types of ours
	}
	s.send(&message{Method: method, Params: raw})
}

func (s *Server) send(m *message) {
	m.JSONRPC = "2.0"
	raw, err := json.Marshal(m)
	if err != nil {
		raw, _ = json.Marshal(&message{JSONRPC: "2.0", ID: m.ID, Error: &rpcError{internalError, err.Error()}})
	}
	s.sending.Lock()
	defer s.sending.Unlock()
	s.opt.Send(raw)
}
