package cli

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"mscclc/algorithms"
	"mscclc/files"
	"mscclc/lang/syntax"
)

// This file finds the text of files of which messages quote lines.

// maxExcerpt bounds the files that are read again to show a line of them.
const maxExcerpt = 64 << 20

// excerpts keeps the beginning of what is written to it, to show lines of it.
type excerpts struct{ bytes.Buffer }

func (e *excerpts) Write(b []byte) (int, error) {
	e.Buffer.Write(b[:min(len(b), maxExcerpt-e.Len())])
	return len(b), nil
}

// endings are those of the files that messages quote lines of.
var endings = append(slices.Clip(ProgramEndings), ".table", ".topo", ".rules")

// Text returns what a file that messages name holds, or nil where its lines are not quoted. A program or a library may
// name any file of the machine, so that lines are quoted only of files that the user named and that are called as such
// files are, and of valid algorithms and libraries.
func (a *App) Text(name string) []byte { return files.TrimMark(a.textOf(name)) }

func (a *App) textOf(name string) []byte {
	if name == StdinName {
		return a.stdinText.Bytes()
	}
	if a.Guard.named(name) && slices.Contains(endings, Ending(name)) {
		f, err := files.Open(name)
		if err != nil {
			return nil
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return nil
		}
		head := make([]byte, 512)
		if n, _ := f.ReadAt(head, 0); bytes.IndexByte(head[:n], 0) >= 0 {
			return nil // no text, and perhaps long
		}
		text := make([]byte, min(info.Size(), maxExcerpt))
		n, _ := io.ReadFull(f, text)
		return text[:n]
	}
	text, err := []byte(nil), fs.ErrNotExist
	if filepath.Ext(name) == files.LibrarySuffix {
		text, err = files.ReadLibrary(name, nil, maxExcerpt)
	}
	if errors.Is(err, fs.ErrNotExist) {
		text, err = algorithms.Open(name)
	}
	if err != nil {
		return nil
	}
	if _, err := syntax.Parse(name, text); err != nil {
		return nil
	}
	return text
}
