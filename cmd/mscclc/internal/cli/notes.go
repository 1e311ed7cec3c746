package cli

import (
	"fmt"
	"slices"
	"sync"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// Noted holds the notes of a document. In a list of documents the first has the notes of all.
type Noted struct {
	Notes []string `json:"notes,omitempty" doc:"what stderr has without --json, after note:"`
}

// Notes collects the notes of a run of the command: for its document, and so that none is said twice.
type notes struct {
	mu    sync.Mutex
	texts []string
}

// add keeps a note, and reports whether it is a new one.
func (n *notes) add(text string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if slices.Contains(n.texts, text) {
		return false
	}
	n.texts = append(n.texts, text)
	return true
}

// List returns the notes so far.
func (n *notes) List() Noted {
	n.mu.Lock()
	defer n.mu.Unlock()
	return Noted{slices.Clone(n.texts)}
}

// Noted returns r with the notes so far.
func (a *App) Noted(r Report) Report {
	r.Noted = a.Notes.List()
	return r
}

// Note says a note on what where names: a file, a source position, or "". With --json the document has the note. A note
// that was said is not said again: a file may be compiled several times.
func (a *App) Note(where, format string, args ...any) {
	head := ""
	if where != "" {
		head = diag.Printable(where) + ": "
	}
	text := fmt.Sprintf(format, args...)
	if a.Notes.add(diag.Shorten(head + text)) {
		a.Say("%snote: %s", head, text)
	}
}

// NoteNoOp notes that --op is ignored, as nothing is reduced.
func (a *App) NoteNoOp(c *ir.Collective) {
	a.Note("", "--op is ignored: %s reduces nothing", c.Kind)
}
