package syntax

import "sync"

// A choice among programs compiles each file in many forms, and parsing takes a fifth of its time. So trees are kept,
// but few: a tree takes some fifty times the memory of its text.
const (
	mostKept  = 256 << 10 // bytes of text whose trees are kept
	mostOfOne = 16 << 10  // bytes of the text of a file whose tree is kept
)

// A memo keeps the trees of files without errors.
type memo struct {
	mu    sync.Mutex
	of    map[memoKey]*File
	bytes int // of the texts
}

// A memoKey is all that a tree depends on.
type memoKey struct {
	filename, text string
	limits         Limits
}

var trees = memo{of: map[memoKey]*File{}}

// get returns the tree of a file, which parse makes if it is not kept. Where there is no room for it, all others go.
func (m *memo) get(filename string, src []byte, lim Limits, parse func() (*File, error)) (*File, error) {
	if len(src) > mostOfOne {
		return parse()
	}
	key := memoKey{filename, string(src), lim}
	m.mu.Lock()
	f := m.of[key]
	m.mu.Unlock()
	if f != nil {
		return f, nil
	}
	f, err := parse()
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if kept := m.of[key]; kept != nil {
		return kept, nil // another goroutine has parsed it meanwhile
	}
	if m.bytes += len(src); m.bytes > mostKept {
		clear(m.of)
		m.bytes = len(src)
	}
	m.of[key] = f
	return f, nil
}
