package mscclc_test

import (
	"go/scanner"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// elsewhere are files that comments name and that the repository does not have: of other projects, or what a program
// writes.
var elsewhere = strings.Fields(`
	src/graph/xml.cc src/misc/msccl/msccl_parser.cc execution_plan.cc communicator.cc reduce_kernel.h enqueue.cc ucp.h
	more.h NAME.h NAME_onesided.h testdata/PASS.txtar internal/testing`)

var (
	// A pointer is a file with the ending of a source or a page, or a folder of the repository.
	filePointer   = regexp.MustCompile(`(?:^|[\s("'\x60,=])((?:[\w.*-]+/)*[\w*-]+\.(?:go|cc|h|c|ts|sh|py|md|txtar|topo))\b`)
	folderPointer = regexp.MustCompile(`(?:^|[\s("'\x60,])((?:[\w.-]+/)+[\w-]+)([/*{]|\.[a-z])?`)
	// cComment is a comment of C++ or TypeScript, and hashComment one of a script. A literal is matched before them.
	cComment    = regexp.MustCompile(`"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|//[^\n]*|(?s:/\*.*?\*/)`)
	hashComment = regexp.MustCompile(`(?m)(?:^|\s)#[^\n]*`)
)

// TestPointers: a comment of Go, C++, TypeScript or a script names no file and no folder that does not exist. A pointer
// may begin at the repository, at the comment's folder or at any folder above the file.
func TestPointers(t *testing.T) {
	all := tracked(t)
	top := map[string]bool{}   // the folders of the repository
	known := map[string]bool{} // each file and folder, by all ends of its path
	for _, file := range all {
		for at := file; at != "."; at = path.Dir(at) {
			parts := strings.Split(at, "/")
			for i := range parts {
				known[strings.Join(parts[i:], "/")] = true
			}
			if len(parts) > 1 {
				top[parts[0]] = true
			}
		}
	}
	comments, pointers := 0, 0
	for _, file := range all {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		check := func(to string) {
			if pointers++; !leads(to, file, known) && !slices.Contains(elsewhere, to) {
				t.Errorf("%s: a comment names %s, which does not exist", file, to)
			}
		}
		for _, comment := range commentsOf(file, string(text)) {
			comments++
			for _, m := range filePointer.FindAllStringSubmatch(comment, -1) {
				check(m[1])
			}
			for _, m := range folderPointer.FindAllStringSubmatch(comment, -1) {
				if first, _, _ := strings.Cut(m[1], "/"); top[first] && m[2] == "" { // no file, and no program of the catalog
					check(m[1])
				}
			}
		}
	}
	t.Logf("%d pointers in %d comments", pointers, comments)
	if comments < 10000 || pointers < 300 {
		t.Errorf("found %d pointers in %d comments; there are more", pointers, comments)
	}
}

// leads reports whether a pointer in a file leads somewhere.
func leads(to, from string, known map[string]bool) bool {
	to = strings.TrimPrefix(to, "./")
	if known[to] || exists(path.Join(path.Dir(from), to)) {
		return true
	}
	if strings.Contains(to, "*") {
		for name := range known {
			if fits, _ := path.Match(to, name); fits {
				return true
			}
		}
	}
	return false
}

// commentsOf returns the comments of a source file, and none of other files.
func commentsOf(file, text string) (list []string) {
	switch ext := filepath.Ext(file); {
	case ext == ".go":
		return goComments(text)
	case slices.Contains([]string{".cc", ".h", ".c", ".ts"}, ext):
		for _, m := range cComment.FindAllString(text, -1) {
			if strings.HasPrefix(m, "/") {
				list = append(list, m)
			}
		}
	case ext == ".sh" || ext == ".py" || strings.HasPrefix(text, "#!"):
		return hashComment.FindAllString(text, -1)
	}
	return list
}

func goComments(text string) (list []string) {
	files := token.NewFileSet()
	var s scanner.Scanner
	s.Init(files.AddFile("", files.Base(), len(text)), []byte(text), nil, scanner.ScanComments)
	for {
		_, tok, lit := s.Scan()
		switch tok {
		case token.EOF:
			return list
		case token.COMMENT:
			list = append(list, lit)
		}
	}
}
