package processes

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"sync"
)

// A printer hands on what several processes say, line by line. What several of them say alike is handed on once.
type printer struct {
	mu   sync.Mutex
	to   io.Writer
	said map[string]int // by line: who said it first
	over bool           // a signal ends the processes: that one of them notices the end of another says nothing
}

// hush has the printer pass on nothing more.
func (t *printer) hush() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
}

// mostSaid bounds the lines that a printer remembers.
const mostSaid = 1 << 12

// A speaker is what one process writes to.
type speaker struct {
	*printer
	process int
	rest    []byte          // of a line that has not ended
	died    strings.Builder // what Go's runtime wrote of its death
	hold    bool            // errors wait for release
	held    []byte
}

// Write implements io.Writer.
func (s *speaker) Write(text []byte) (int, error) {
	s.rest = append(s.rest, text...)
	for {
		end := bytes.IndexByte(s.rest, '\n') + 1
		if end == 0 {
			return len(text), nil
		}
		line := s.rest[:end]
		s.rest = s.rest[end:]
		if err := s.line(line); err != nil {
			return 0, err
		}
	}
}

// line keeps what Go's runtime writes of a crash, holds errors, and hands on all else.
func (s *speaker) line(line []byte) error {
	begins := func(head string) bool { return bytes.HasPrefix(line, []byte(head)) }
	switch {
	case s.died.Len() > 0 || slices.ContainsFunc(faults, begins):
		s.died.Write(line[:min(len(line), mostStack-s.died.Len())])
		return nil
	case len(s.held) > 0 || s.hold && begins("error: "):
		s.held = append(s.held, line...)
		return nil
	}
	return s.print(s.process, line)
}

// end hands on what is left.
func (s *speaker) end() {
	if len(s.rest) > 0 {
		s.line(append(s.rest, '\n')) // nobody can be notified that it fails
	}
}

// release hands on what was held, and what was no crash, since the process ended well.
func (s *speaker) release() {
	for line := range bytes.Lines(append(s.held, s.died.String()...)) {
		s.print(s.process, line)
	}
}

func (t *printer) print(process int, line []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return nil
	}
	if first, ok := t.said[string(line)]; ok && first != process {
		return nil
	} else if !ok && len(t.said) < mostSaid {
		t.said[string(line)] = process
	}
	_, err := t.to.Write(line)
	return err
}
