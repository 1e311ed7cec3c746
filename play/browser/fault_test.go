package browser

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// A document is a file that a link holds.
type document struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// link returns the fragment of a link to documents or to a program of the catalog, with choices.
func link(t *testing.T, choices map[string]any, documents ...document) string {
	t.Helper()
	opened := map[string]any{}
	for name, value := range choices {
		opened[name] = value
	}
	if len(documents) > 0 {
		opened["documents"] = documents
	}
	text, err := json.Marshal(opened)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return "#p=" + base64.RawURLEncoding.EncodeToString(b.Bytes())
}

// broken are the programs that must be rejected, by what is wrong with them.
var broken = map[string]string{
	"../../testdata/doubling.xml":                   "deadlock",
	"../../ir/diag/examples/deadlock.xml":           "deadlock",
	"../../ir/diag/examples/deadlock.onesided.json": "deadlock",
	"../../ir/diag/examples/race.xml":               "race",
	"../../ir/diag/examples/race.onesided.json":     "race",
	"../../ir/diag/examples/uninitialized.xml":      "uninitialized",
	"../../ir/diag/examples/unmatched.xml":          "unmatched",
	"../../ir/diag/examples/out-of-bounds.mscl":     "out-of-bounds",
	"../../ir/diag/examples/stale.mscl":             "stale",
	"testdata/wrong.mscl":                           "wrong-result",
}

// built builds mscclc, once. It is built as tests of other packages are, which have most of it compiled.
var built = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "mscclc-command")
	if err != nil {
		return "", err
	}
	closers = append(closers, func() { os.RemoveAll(folder) })
	binary := filepath.Join(folder, "mscclc")
	if out, err := exec.Command("go", "build", "-o", binary, "mscclc/cmd/mscclc").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return binary, nil
})

// command returns the file of mscclc.
func command(t *testing.T) string {
	t.Helper()
	binary, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// TestBroken compares what the page says of broken programs with what the command says, and which steps are lit.
func TestBroken(t *testing.T) {
	b := theBench(t)
	binary := command(t)
	for file, code := range broken {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			name := filepath.Base(file)
			folder := t.TempDir()
			if err := os.WriteFile(filepath.Join(folder, name), text, 0o666); err != nil {
				t.Fatal(err)
			}
			verify := exec.Command(binary, "verify", name)
			verify.Dir = folder
			said, err := verify.CombinedOutput()
			if err == nil {
				t.Fatalf("the command takes it:\n%s", said)
			}
			p := b.open(t, link(t, nil, document{name, string(text)}))
			p.shown()
			if line := p.says(); !strings.Contains(line, "Rejected") || !strings.Contains(line, code) {
				t.Errorf("it says %q", line)
			}
			compareText(t, string(said), evaluate[string](p, `document.querySelector(".problems").textContent`))
			lit := evaluate[[]string](p, `[...document.querySelectorAll(".fault .step.lit b")].map((b) => b.textContent)`)
			for _, l := range lit {
				if !strings.Contains(string(said), l) {
					t.Errorf("%q is lit, of which the command says nothing:\n%s", l, said)
				}
			}
			if least := map[string]int{"deadlock": 2, "race": 2}[code]; len(lit) < least {
				t.Errorf("%d steps are lit: %q", len(lit), lit)
			}
			if code == "deadlock" && evaluate[int](p, `document.querySelectorAll(".cycle .wait").length`) < 2 {
				t.Error("no cycle is drawn")
			}
			if code == "race" && evaluate[string](p, `document.querySelector(".missing")?.textContent ?? ""`) == "" {
				t.Error("it does not say which signal is missing")
			}
			if code == "wrong-result" && evaluate[int](p, `document.querySelectorAll(".history li").length`) == 0 {
				t.Error("it does not say how the chunk came to hold that")
			}
		})
	}
}

// compareText asks that the page shows all lines of the command, but for the count at their end.
func compareText(t *testing.T, command, page string) {
	t.Helper()
	count := regexp.MustCompile(`^\d+ errors?$|^FAIL `)
	lines := 0
	for line := range strings.Lines(command) {
		line = strings.TrimRight(line, "\n")
		if line == "" || count.MatchString(line) {
			continue
		}
		lines++
		if !strings.Contains(page, line) {
			t.Errorf("the command says\n%s\nand the page\n%s", line, page)
		}
	}
	if lines == 0 {
		t.Errorf("the command says nothing:\n%s", command)
	}
}
