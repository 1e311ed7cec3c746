package selectcmd

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mscclc/algorithms/choose"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/files"
	"mscclc/ir/diag"
)

// mostOwn is how many bytes a file has at most that is looked at for its mark: as many as the largest program of a
// runtime may have, and more.
const mostOwn = 1 << 28

// mark returns the first line of a program that select writes for a target: a comment, which the runtimes' readers pass
// over, with a sum of all that follows. A file that begins with its own mark was written by select, and nobody has
// changed it since.
func mark(target string, program []byte) string {
	return fmt.Sprintf("<!-- mscclc select for %s, sha256 %x -->\n", target, sha256.Sum256(program))
}

// own reports whether select wrote the file at path for the target, and it is still as it was.
func (e *emission) own(path string) bool {
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() || info.Size() > mostOwn {
		return false
	}
	text, err := files.Read(path, "a program", mostOwn)
	if err != nil {
		return false
	}
	if e.plans() {
		return ownPlan(path, text)
	}
	end := bytes.IndexByte(text, '\n') + 1
	return string(text[:end]) == mark(e.selector.Target.Name, text[end:])
}

// taken finds the places of the programs where there is something that select did not write, or that was changed since.
func (e *emission) taken(list []choose.Stretch) (found diag.List) {
	for i, r := range list {
		path := e.path(i, r)
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) && !e.own(path) {
			found = append(found,
				diag.New(diag.Io, cli.FileSpan(path),
					"a program would go here, but select did not write this file for %s, or it was changed since",
					e.selector.Target.Name).
					WithHint("move it away, or emit to another folder"))
		}
	}
	return found
}

// tidy removes what an earlier select wrote for the selector's calls and this one did not. What has such a name but not
// its mark may be a user's: it stays, and is reported.
func (e *emission) tidy() error {
	entries, err := os.ReadDir(e.flags.emit)
	if err != nil {
		return diag.List{diag.New(diag.Io, cli.FileSpan(e.flags.emit), "%v", err)}
	}
	for _, at := range entries {
		name := at.Name()
		path := filepath.Join(e.flags.emit, name)
		switch {
		case !strings.HasPrefix(name, e.prefix()) || filepath.Ext(name) != e.ending() || slices.Contains(e.written, name):
		case !e.own(path):
			e.Note("%s is kept: select did not write it for %s, or it was changed since", name, e.selector.Target.Name)
		default:
			if err := os.Remove(path); err != nil {
				return diag.List{diag.New(diag.Io, cli.FileSpan(path), "%v", err)}
			}
			e.Note("%s is removed: an earlier select wrote it for the same calls", name)
		}
	}
	return nil
}

// Note has a text for below the table.
func (e *emission) Note(format string, args ...any) {
	e.notes = append(e.notes, diag.Printable(fmt.Sprintf(format, args...)))
}
