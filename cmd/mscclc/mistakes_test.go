package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mscclc/cmd/mscclc/internal/cli"

	"github.com/google/go-cmp/cmp"
)

// A mistake is an entry of testdata/mistakes/list.txt.
type mistake struct {
	name, cause string
	args        []string
	files       map[string]string // by slash-separated path
}

var mistakeFile = regexp.MustCompile(`^-- (\S+) --$`)

// parseMistakes reads the list: "== NAME", "cause: ...", "$ ARGS", and files as
// in a txtar archive.
func parseMistakes(t *testing.T, text string) []mistake {
	t.Helper()
	var all []mistake
	for _, part := range strings.Split(text, "\n== ")[1:] {
		lines := strings.Split(strings.TrimRight(part, "\n")+"\n", "\n")
		m := mistake{name: lines[0], files: map[string]string{}}
		if !strings.HasPrefix(lines[1], "cause: ") || !strings.HasPrefix(lines[2], "$ ") {
			t.Fatalf("%s: the lines after the name are not a cause and a command", m.name)
		}
		m.cause, m.args = lines[1], strings.Fields(lines[2][2:])
		file := ""
		for _, line := range lines[3 : len(lines)-1] {
			if at := mistakeFile.FindStringSubmatch(line); at != nil {
				file = at[1]
			} else if file != "" {
				m.files[file] += line + "\n"
			}
		}
		all = append(all, m)
	}
	return all
}

// TestMistakes runs typical mistakes of newcomers and compares what mscclc says
// of each with testdata/mistakes/messages.golden. Each command must fail with
// exit code 1 or 2 and print its message to stderr.
func TestMistakes(t *testing.T) {
	list, err := os.ReadFile("testdata/mistakes/list.txt")
	if err != nil {
		t.Fatal(err)
	}
	golden, err := filepath.Abs("testdata/mistakes/messages.golden")
	if err != nil {
		t.Fatal(err)
	}
	all := parseMistakes(t, string(list))
	if len(all) < 60 {
		t.Fatalf("the list has %d mistakes, want at least 60", len(all))
	}
	var got strings.Builder
	for i, m := range all {
		fmt.Fprintf(&got, "== %d\n", i+1)
		got.WriteString(m.said(t))
	}
	if os.Getenv("MSCCLC_UPDATE") != "" {
		if err := os.WriteFile(golden, []byte(got.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("messages differ from the golden file (MSCCLC_UPDATE=1 rewrites it):\n%s", diff)
	}
}

// said returns the files, the command and what it prints, in a folder of its own.
func (m *mistake) said(t *testing.T) string {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range m.files {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	var stdout, stderr bytes.Buffer
	code := main1(m.args, strings.NewReader(""), &stdout, &stderr)
	if code != cli.ExitInput && code != cli.ExitUsage {
		t.Errorf("%s: mscclc %s exits with %d, want 1 or 2", m.name, strings.Join(m.args, " "), code)
	}
	if stderr.Len() == 0 && !strings.Contains(stdout.String(), "error:") {
		t.Errorf("%s: nothing says what is wrong", m.name)
	}
	return fmt.Sprintf("$ mscclc %s\n%s%sexit code %d\n\n", strings.Join(m.args, " "), stdout.String(),
		stderr.String(), code)
}
