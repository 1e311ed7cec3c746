package main

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mscclc/cmd/mscclc/internal/cli"
)

// TestDocs runs the commands of README.md, CONTRIBUTING.md and docs/*.md, page by page, in the order in which they
// stand. Each page has a folder of its own with copies of algorithms, examples and testdata.
//
//   - A fence after <!-- NAME.mscl --> is a file, which is written. A fence after <!-- FILE: after TEXT -->, where
//     the repository has FILE, is an excerpt of what FILE has after TEXT.
//   - A console fence is a session: "$ mscclc ..." and all that it prints, on stdout and stderr. A line "..." stands
//     for any number of lines, and a line that ends in "..." is the beginning of a longer one. Times of runs are not
//     compared.
//   - Other lines of code that begin with mscclc run, too, and must succeed. A page about a runtime has the line that
//     compile prints for it.
//   - A picture of docs/img is one that these commands drew, byte for byte.
//
// Commands that name a GPU (--device cuda or hip) do not run, nor does a block after <!-- not run: REASON -->. One
// after <!-- run with: PROGRAM ... --> is run by a shell where these programs are installed.
// MSCCLC_UPDATE=1 rewrites what sessions without "..." print, and the pictures.
func TestDocs(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("MSCCLC_CACHE", "off")
	total, ran := 0, 0
	pages = append(pages, filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md"))
	for _, page := range pages {
		t.Run(filepath.Base(page), func(t *testing.T) {
			folder := t.TempDir()
			for _, dir := range []string{"algorithms", "examples", "testdata"} {
				if err := os.CopyFS(filepath.Join(folder, dir), os.DirFS(filepath.Join(root, dir))); err != nil {
					t.Fatal(err)
				}
			}
			t.Chdir(folder)
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			p := &docPage{T: t, root: root, name: filepath.Base(page), text: string(text)}
			p.check()
			p.pictures()
			total, ran = total+p.ran, ran+1
			if os.Getenv("MSCCLC_UPDATE") != "" && p.text != string(text) {
				if err := os.WriteFile(page, []byte(p.text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	if ran == len(pages) && total < 45 {
		t.Errorf("only %d commands ran", total)
	}
}

// A docPage is a page whose commands are being run.
type docPage struct {
	*testing.T
	root string
	name string
	text string
	ran  int
}

// runtimes are the pages that have the line by which a runtime uses a program, as compile prints it.
var runtimes = map[string]bool{"msccl.md": true, "rccl.md": true, "mscclpp.md": true, "README.md": true}

// blocks finds a block of code with the comment that stands before it, if any: a fence, or indented lines.
var blocks = regexp.MustCompile("(?m)^(?:<!-- (.*) -->\n+)?(?:```([a-z]*)\n((?s:.*?))^```$|((?:^    .*\n)+))")

func (p *docPage) check() {
	for _, m := range blocks.FindAllStringSubmatch(p.text, -1) {
		comment, language, fence, indented := m[1], m[2], m[3], m[4]
		switch {
		case strings.HasPrefix(comment, "not run: "):
		case strings.HasPrefix(comment, "run with: "):
			p.with(strings.Fields(comment)[2:], indented)
		case language == "console":
			p.session(fence)
		case comment != "" && fence != "":
			p.file(comment, fence)
		default:
			p.commands(fence + regexp.MustCompile(`(?m)^    `).ReplaceAllString(indented, ""))
		}
	}
}

var pictures = regexp.MustCompile(`!\[[^\]]*\]\((?:docs/)?img/([^)]+)\)`)

// pictures compares a document's pictures with those that its commands drew. Package play/browser draws those of the
// page.
func (p *docPage) pictures() {
	for _, m := range pictures.FindAllStringSubmatch(p.text, -1) {
		if strings.HasPrefix(m[1], "play-") {
			if _, err := os.Stat(filepath.Join(p.root, "docs", "img", m[1])); err != nil {
				p.Error(err)
			}
			continue
		}
		drawn, err := os.ReadFile(m[1])
		if err != nil {
			p.Errorf("no command of the page draws %s", m[1])
			continue
		}
		file := filepath.Join(p.root, "docs", "img", m[1])
		if kept, err := os.ReadFile(file); err == nil && bytes.Equal(kept, drawn) {
			continue
		}
		if os.Getenv("MSCCLC_UPDATE") == "" {
			p.Errorf("docs/img/%s is not what the command draws", m[1])
		} else if err := os.WriteFile(file, drawn, 0o666); err != nil {
			p.Error(err)
		}
	}
}

// File writes the file that a page shows, or compares the excerpt with the file of the repository. Sections of golden
// files are compared by TestShownStages.
func (p *docPage) file(comment, text string) {
	if strings.Contains(comment, ".txtar: ") {
		return
	}
	name, after, _ := strings.Cut(comment, ": after ")
	whole, err := os.ReadFile(filepath.Join(p.root, name))
	if os.IsNotExist(err) && filepath.Ext(name) == ".mscl" {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			p.Fatal(err)
		}
		return
	}
	if err != nil {
		p.Error(err)
		return
	}
	_, rest, found := strings.Cut(string(whole), after)
	if !found || !strings.Contains(unindented(rest), unindented(text)) {
		p.Errorf("%s does not have these lines:\n%s", comment, text)
	}
}

// unindented is text without the spaces and tabs at the beginning of its lines.
func unindented(text string) string {
	return regexp.MustCompile(`(?m)^[ \t]+`).ReplaceAllString(text, "")
}

// commands runs the commands of a block without output.
func (p *docPage) commands(text string) {
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		line = strings.TrimSpace(line)
		if folder, is := strings.CutPrefix(line, "mkdir "); is {
			if err := os.Mkdir(folder, 0o777); err != nil {
				p.Error(err)
			}
		}
		if !strings.HasPrefix(line, "mscclc ") || needsGPU(line) {
			continue
		}
		out, code := p.run(line)
		if code != cli.ExitGood && !(code == cli.ExitInput && strings.HasPrefix(line, "mscclc lint")) {
			p.Errorf("%s exits with %d:\n%s", line, code, out)
		}
		if _, use, found := strings.Cut(out, "\nuse it: "); found && runtimes[p.name] && !strings.Contains(p.text, use) {
			p.Errorf("the page does not have the line that %s prints: %s", line, use)
		}
	}
}

// with has a shell run the commands of a block, unless a program is not installed. mpirun then has more processes than
// processors, and root.
func (p *docPage) with(programs []string, text string) {
	for _, name := range programs {
		if _, err := exec.LookPath(name); err != nil {
			p.Logf("a block is not run: %v", err)
			return
		}
	}
	c := exec.Command("sh", "-e", "-c", text)
	c.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
		"OMPI_MCA_rmaps_base_oversubscribe=1", "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe")
	if out, err := c.CombinedOutput(); err != nil {
		p.Errorf("%s: %v\n%s", text, err, out)
	}
	p.ran++
}

func needsGPU(line string) bool {
	return strings.Contains(line, "--device cuda") || strings.Contains(line, "--device hip")
}

// run runs a command line, and returns what it prints on stdout and stderr, and its exit code.
func (p *docPage) run(line string) (string, int) {
	line, _, _ = strings.Cut(line, " | ")
	var out bytes.Buffer
	code := main1(words(line)[1:], strings.NewReader(""), &out, &out)
	p.ran++
	return out.String(), code
}

// words splits a command line, in which double quotes hold a word with spaces.
func words(line string) (list []string) {
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 1 {
			list = append(list, part)
		} else {
			list = append(list, strings.Fields(part)...)
		}
	}
	return list
}

// session runs the commands of a session and compares what they print.
func (p *docPage) session(text string) {
	for _, part := range strings.Split("\n"+text, "\n$ ")[1:] {
		line, want, _ := strings.Cut(part, "\n")
		if !strings.HasPrefix(line, "mscclc ") || needsGPU(line) {
			continue
		}
		got, code := p.run(line)
		if code > cli.ExitInput || strings.Contains(got, "[io]") {
			p.Errorf("%s exits with %d:\n%s", line, code, got)
		} else if !printed(sessionLines(got), sessionLines(want)) {
			if os.Getenv("MSCCLC_UPDATE") != "" && !strings.Contains(want, "...") {
				p.text = strings.Replace(p.text, "$ "+line+"\n"+want, "$ "+line+"\n"+got, 1)
				continue
			}
			p.Errorf("%s prints:\n%s\nbut the page says:\n%s", line, got, want)
		}
	}
}

// times are the times and bandwidths that run prints, which differ each time.
var times = regexp.MustCompile(`\b(time|algbw|busbw) [0-9.]+`)

// sessionLines returns the lines of what a command prints, without times and without spaces at their ends.
func sessionLines(text string) []string {
	lines := strings.Split(strings.TrimRight(times.ReplaceAllString(text, "$1 N"), "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

// printed reports whether the lines got are what want says.
func printed(got, want []string) bool {
	for i, w := range want {
		if w == "..." {
			for skip := i; skip <= len(got); skip++ {
				if printed(got[skip:], want[i+1:]) {
					return true
				}
			}
			return false
		}
		begin, cut := strings.CutSuffix(w, "...")
		if i >= len(got) || got[i] != w && !(cut && strings.HasPrefix(got[i], begin)) {
			return false
		}
	}
	return len(got) == len(want)
}

// Each page of docs has a line in the index.
func TestDocsIndex(t *testing.T) {
	folder := os.DirFS("../../docs")
	index, err := fs.ReadFile(folder, "README.md")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := fs.Glob(folder, "*.md")
	if err != nil || len(pages) < 8 {
		t.Fatal(pages, err)
	}
	for _, page := range pages {
		if page != "README.md" && !bytes.Contains(index, []byte("]("+page+")")) {
			t.Errorf("docs/README.md has no link to %s", page)
		}
	}
}
