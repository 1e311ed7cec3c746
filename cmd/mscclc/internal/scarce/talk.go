package scarce

import (
	"bytes"
	"io"
	"strings"
)

// A talk hands on what a process writes to stderr, up to a line with which Go's runtime begins to die. It holds back
// no more than what may become such a line.
type talk struct {
	to      io.Writer
	held    []byte // a line so far, which may become one of dying
	midLine bool   // what was handed on last did not end a line
	dies    bool
	died    strings.Builder
}

// dying are the beginnings of lines of Go's runtime.
var dying = []string{"fatal error: ", "runtime: out of memory", "runtime: cannot allocate memory",
	"runtime: failed to create new OS thread", "runtime/cgo: pthread_create failed"}

// mostDied bounds what is kept of a crash, in bytes.
const mostDied = 1 << 16

// Write implements io.Writer.
func (t *talk) Write(b []byte) (int, error) {
	rest := append(t.held, b...)
	t.held = nil
	for len(rest) > 0 {
		if t.dies {
			t.died.Write(rest[:min(len(rest), mostDied-t.died.Len())])
			break
		}
		line := rest
		if end := bytes.IndexByte(rest, '\n'); end >= 0 {
			line = rest[:end+1]
		}
		if !t.midLine {
			if t.dies = begins(string(line)); t.dies {
				continue
			}
			if mayBegin(string(line)) {
				t.held = bytes.Clone(line)
				break
			}
		}
		if _, err := t.to.Write(line); err != nil {
			return 0, err
		}
		t.midLine = line[len(line)-1] != '\n'
		rest = rest[len(line):]
	}
	return len(b), nil
}

// end hands on what was held back.
func (t *talk) end() { t.to.Write(t.held) }

// begins reports whether a line is one of dying.
func begins(line string) bool {
	for _, d := range dying {
		if strings.HasPrefix(line, d) {
			return true
		}
	}
	return false
}

// mayBegin reports whether a line that goes on may become one.
func mayBegin(line string) bool {
	for _, d := range dying {
		if strings.HasPrefix(d, line) {
			return true
		}
	}
	return false
}
