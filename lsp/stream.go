package lsp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
)

// maxMessage is how many bytes a message of the editor's may have. Larger ones are read and left out.
const maxMessage = 32 << 20

// maxHeader is how many bytes a line of a header may have, and maxHeaders how many lines.
const maxHeader, maxHeaders = 1 << 12, 64

// Serve carries the messages of an editor from in to a server, and the server's to out, until the editor asks it to
// end or in ends. An error is of in, or of a header that is none.
func Serve(in io.Reader, out io.Writer) error {
	w := bufio.NewWriter(out)
	s := NewServer(Options{Read: ReadFile, List: Sources, Send: func(message []byte) {
		fmt.Fprintf(w, "Content-Length: %d\r\n\r\n", len(message))
		w.Write(message)
		w.Flush() // an editor that is gone reads nothing, and its input ends too
	}})
	defer s.Close()
	r := bufio.NewReaderSize(in, maxHeader)
	for {
		message, err := readMessage(r)
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case s.Receive(message):
			return nil
		}
	}
}

// errHeader is of input that is no message.
var errHeader = errors.New("the input is no message of the Language Server Protocol: it lacks Content-Length")

// readMessage reads a message with its header. Of one that is too large it returns nothing.
func readMessage(r *bufio.Reader) ([]byte, error) {
	length := int64(-1)
	for n := 0; ; n++ {
		line, err := r.ReadSlice('\n')
		switch {
		case err == io.EOF && n == 0 && len(line) == 0:
			return nil, io.EOF
		case err != nil || n > maxHeaders:
			return nil, errHeader
		}
		text := strings.TrimRight(string(line), "\r\n")
		if text == "" {
			break
		}
		key, value, _ := strings.Cut(text, ":")
		if strings.EqualFold(strings.TrimSpace(key), "Content-Length") {
			if length, err = strconv.ParseInt(strings.TrimSpace(value), 10, 64); err != nil || length < 0 {
				return nil, errHeader
			}
		}
	}
	if length < 0 {
		return nil, errHeader
	}
	if length > maxMessage {
		if _, err := io.CopyN(io.Discard, r, length); err != nil {
			return nil, io.EOF
		}
		return nil, nil
	}
	message := make([]byte, length)
	if _, err := io.ReadFull(r, message); err != nil {
		return nil, io.EOF
	}
	return message, nil
}

// Sources lists the .mscl files in a folder and below it, up to a bound, without folders that a dot begins.
func Sources(folder string) (list []string) {
	seen := 0
	filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if seen++; seen > 20*mostFiles || len(list) >= mostFiles {
			return fs.SkipAll
		}
		name := filepath.Base(path)
		switch {
		case err != nil:
			return nil
		case e.IsDir() && path != folder && (strings.HasPrefix(name, ".") || name == "node_modules"):
			return fs.SkipDir
		case e.Type().IsRegular() && strings.HasSuffix(name, ".mscl"):
			list = append(list, path)
		}
		return nil
	})
	return list
}
