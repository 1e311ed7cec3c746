package mscclc_test

import (
	"go/scanner"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// tracked lists the files of the repository whose names end so.
func tracked(t *testing.T, endings ...string) []string {
	out, err := exec.Command("git", append([]string{"ls-files", "--cached", "--others", "--exclude-standard"},
		endings...)...).Output()
	if err != nil {
		t.Skip("no repository of git: ", err)
	}
	var files []string
	for file := range strings.Lines(string(out)) {
		if file = strings.TrimSpace(file); exists(file) {
			files = append(files, file)
		}
	}
	return files
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

var link = regexp.MustCompile(`\]\(([^)#\s]*)(#[^)\s]*)?\)`)

// Every link of a page leads to a file of the repository, and to a heading that it has.
func TestLinks(t *testing.T) {
	pages := tracked(t, "*.md")
	if len(pages) < 20 {
		t.Fatalf("%d pages", len(pages))
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(prose(string(text)), -1) {
			to, heading := m[1], strings.TrimPrefix(m[2], "#")
			if strings.Contains(to, "://") {
				continue
			}
			file := page
			if to != "" {
				file = filepath.Join(filepath.Dir(page), to)
			}
			if !exists(file) {
				t.Errorf("%s links to %s, which is not there", page, to)
			} else if heading != "" && !hasHeading(t, file, heading) {
				t.Errorf("%s links to %s#%s, which is no heading there", page, to, heading)
			}
		}
	}
}

// prose returns a page without its code.
func prose(page string) string {
	page = regexp.MustCompile("(?ms)^```.*?^```$").ReplaceAllString(page, "")
	return regexp.MustCompile("`[^`\n]*`").ReplaceAllString(page, "")
}

// hasHeading reports whether a page has a heading, given as links name it: in lower case, with - for blanks.
func hasHeading(t *testing.T, file, heading string) bool {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		title, is := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
		name := regexp.MustCompile(`[^a-z0-9_ -]`).ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), "")
		if is && strings.HasPrefix(line, "#") && strings.ReplaceAll(name, " ", "-") == heading {
			return true
		}
	}
	return false
}

// What the pages for users may have.
const (
	mostColumns   = 120
	mostParagraph = 5   // lines
	mostReadme    = 250 // lines
)

var listItem = regexp.MustCompile(`^ *(\*|\d+\.) `)

// README.md is short, and the pages for users have short paragraphs.
func TestPagesAreShort(t *testing.T) {
	for _, page := range tracked(t, "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/*.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), "\n"); page == "README.md" && n > mostReadme {
			t.Errorf("%s has %d lines; at most %d are allowed", page, n, mostReadme)
		}
		lines := 0 // of the paragraph
		for i, line := range pageLines(page, string(text)) {
			if lines++; line == "" || listItem.MatchString(line) {
				lines = 0
			}
			if lines > mostParagraph {
				t.Errorf("%s:%d: the paragraph has more than %d lines", page, i+1, mostParagraph)
			}
		}
	}
}

// No line of source or text has more than 120 columns. These do not count: tables, code in pages, targets of links, the
// text of strings in Go, and generated files.
func TestLineLengths(t *testing.T) {
	kinds := map[string]func(file, text string) []string{
		".go": goLines, ".md": pageLines, ".c": cLines, ".cc": cLines, ".h": cLines, ".sh": allLines,
		".py": allLines,
	}
	files := tracked(t, "*.go", "*.md", "*.c", "*.cc", "*.h", "*.sh", "python/*.py", "examples/python/*.py")
	if len(files) < 600 {
		t.Fatalf("%d files", len(files))
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if generated.Match(text[:min(len(text), 2000)]) {
			continue
		}
		for i, line := range kinds[filepath.Ext(file)](file, string(text)) {
			if n := utf8.RuneCountInString(line); n > mostColumns {
				t.Errorf("%s:%d has %d columns; at most %d are allowed", file, i+1, n, mostColumns)
			}
		}
	}
}

// generated is what files say that a tool or a test writes.
var generated = regexp.MustCompile(
	`^// Code generated|^# [^#]*?((Made|Written|written) by .*Test|TestPapers writes this page)`)

func allLines(_, text string) []string { return strings.Split(text, "\n") }

// pageLines returns the lines of a page, where tables and code are empty, and links have no target.
func pageLines(_, text string) []string {
	lines, fence := allLines("", text), false
	for i, line := range lines {
		begins := strings.HasPrefix(line, "```")
		if fence = fence != begins; fence || begins || strings.HasPrefix(line, "|") || strings.HasPrefix(line, "    ") {
			lines[i] = ""
		}
		lines[i] = regexp.MustCompile(`\]\([^)]*\)|^\[[^\]]*\]: .*`).ReplaceAllString(lines[i], "]()")
	}
	return lines
}

// cLines returns the lines of C or C++, where the rows of tables, which macros make, are empty.
func cLines(_, text string) []string {
	row := regexp.MustCompile(`^ *(X|BOTH|NAMED|#define LAUNCH_PARAMS) ?\(`)
	lines := allLines("", text)
	for i, line := range lines {
		if row.MatchString(line) {
			lines[i] = ""
		}
	}
	return lines
}

// goLines returns the lines of a Go file, where the rows of tables and the outputs of examples are empty, and strings
// have no text. Strings of several lines, such as help texts, keep it, but not in tests, whose strings are inputs.
func goLines(name, text string) []string {
	files := token.NewFileSet()
	file := files.AddFile("", files.Base(), len(text))
	var s scanner.Scanner
	s.Init(file, []byte(text), nil, scanner.ScanComments)
	var out strings.Builder
	done := 0
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			break
		}
		lines := strings.Count(lit, "\n")
		if at := file.Offset(pos); tok == token.STRING && (lines == 0 || strings.HasSuffix(name, "_test.go")) {
			out.WriteString(text[done:at] + `""` + strings.Repeat("\n", lines))
			done = at + len(lit)
		}
	}
	lines, output := allLines(name, out.String()+text[done:]), false
	for i, line := range lines {
		code := strings.TrimSpace(line)
		output = strings.HasPrefix(code, "//") && (output || code == "// Output:")
		if output || tableRow.MatchString(line) {
			lines[i] = ""
		}
	}
	return lines
}

// tableRow is an element of a list that has one element on each line.
var tableRow = regexp.MustCompile(`^\t+([\w.\[\]]+: *|"": *)?[{\[&]\S.*[}\])],( //.*)?$`)
