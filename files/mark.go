package files

import (
	"bytes"
	"io"
)

// mark is the byte order mark of UTF-8, which some editors begin text with.
const mark = "\xef\xbb\xbf"

// TrimMark returns text without the byte order mark that it may begin with.
func TrimMark(text []byte) []byte { return bytes.TrimPrefix(text, []byte(mark)) }

// unmarked reads what its Reader gives, without the byte order mark that it may begin with.
type unmarked struct {
	io.Reader
	begun bool
}

func (u *unmarked) Read(b []byte) (int, error) {
	if !u.begun {
		u.begun = true
		u.begin()
	}
	return u.Reader.Read(b)
}

// begin reads as much as a mark has, and puts it back if it is none.
func (u *unmarked) begin() {
	head := make([]byte, len(mark))
	n, err := io.ReadFull(u.Reader, head)
	rest := u.Reader
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		rest = failing{err}
	}
	u.Reader = io.MultiReader(bytes.NewReader(TrimMark(head[:n])), rest)
}

// failing is a reader that fails.
type failing struct{ error }

func (f failing) Read([]byte) (int, error) { return 0, f.error }
