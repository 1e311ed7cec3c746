package processes

import (
	"bytes"
	"io"
	"sync"
)

// A teller hands on what several processes say, line by line. What several of them say alike is handed on once.
type teller struct {
	mu   sync.Mutex
	to   io.Writer
	said map[string]int // by line: who said it first
}

// mostSaid bounds the lines that a teller remembers.
const mostSaid = 1 << 12

// A speaker is what one process writes to.
type speaker struct {
	*teller
	process int
	rest    []byte // of a line that has not ended
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
		if err := s.tell(s.process, line); err != nil {
			return 0, err
		}
	}
}

// end hands on what is left.
func (s *speaker) end() {
	if len(s.rest) > 0 {
		s.tell(s.process, append(s.rest, '\n')) // nobody can be told that it fails
	}
}

func (t *teller) tell(process int, line []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if first, ok := t.said[string(line)]; ok && first != process {
		return nil
	} else if !ok && len(t.said) < mostSaid {
		t.said[string(line)] = process
	}
	_, err := t.to.Write(line)
	return err
}
