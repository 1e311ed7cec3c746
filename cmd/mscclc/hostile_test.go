package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unicode"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/internal/covering"
)

// hostileCommands read a file, @. Their outputs are called out, and are there only after exit code 0, but for SARIF.
var hostileCommands = []string{
	"verify @ --sarif out.sarif",
	"compile @ -o out.xml",
	"compile @ --target mscclpp -o out.json",
	"run @ --bytes 1K --trace out.json",
	"run allreduce --ranks 2 --bytes 1K --table @ --trace out.json",
	"bench @ -b 1K -e 1K --replays 1 --plot out.svg",
	"bench allreduce --ranks 2 -b 1K -e 1K --replays 1 --table @ --plot out.svg",
	"show @ program -o out.txt",
	"show @ --svg out.svg",
	"lint @",
	"fmt @",
	"fmt -w @",
	"list @",
	"simulate @ -t h200:gpus=4 -b 1M -e 1M --svg out.svg",
	"simulate allreduce/ring -t @ -b 1M -e 1M --svg out.svg",
	"simulate allreduce/ring --costs @ -b 1M -e 1M --svg out.svg",
	"select allreduce @ -t h200:gpus=2 -b 1M -e 1M --emit out",
	"topo @",
}

// hostileMemory is how many bytes a command may allocate in all for a hostile file of at most a few megabytes, and
// hugeMemory for one that is too large to be read.
const (
	hostileMemory = 512 << 20
	hugeMemory    = 64 << 20
)

// A hostileFile is a file that no command may be harmed by.
type hostileFile struct {
	name string
	text []byte
	make func(name string) error // of a file that is not text
	bad  bool                    // no command can do with it what it is for
	huge bool
}

// TestHostileFiles gives hostile files to every command that reads files. No command panics, leaves half an output,
// changes its input, prints long or unprintable messages, or takes much memory. Every command gets every trick in one
// format of six, with MSCCLC_TESTS=ci in two, and verify gets it in all.
func TestHostileFiles(t *testing.T) {
	good := goodFiles(t)
	codes, period := map[int]int{}, 6
	if covering.CI() {
		period = 3
	}
	for f, ext := range []string{"mscl", "xml", "mprog", "json", "topo", "table"} {
		for i, h := range hostileFiles(good[ext], ext) {
			for c, command := range hostileCommands {
				if c == 0 || (c+i+f)%period == 0 {
					codes[judgeHostile(t, command, h)]++
				}
			}
		}
	}
	t.Logf("exit codes: %v", codes)
	if codes[cli.ExitGood] == 0 || codes[cli.ExitUsage] == 0 || codes[cli.ExitInput] < 100 {
		t.Errorf("exit codes %v: some kind is missing", codes)
	}
}

// goodFiles returns a good file of each format, by the ending of its name.
func goodFiles(t *testing.T) map[string][]byte {
	good := map[string][]byte{"table": []byte(hostileTable)}
	read := func(ext, name string) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		good[ext] = text
	}
	read("mscl", "../../algorithms/allreduce/ring.mscl")
	read("topo", "../../topology/machines/cpu.topo")
	for _, ext := range []string{"xml", "mprog", "json"} {
		name := filepath.Join(t.TempDir(), "good."+ext)
		if code, text := called("compile allreduce/ring --ranks 4 -o " + name); code != cli.ExitGood {
			t.Fatal(text)
		}
		read(ext, name)
	}
	return good
}

const hostileTable = `{"version": 1, "entries": [{"device": "CPU", "ranks": 2, "collective": "allreduce", "inplace": false,
  "rules": [{"up_to": 65536, "program": "allreduce/allpairs", "protocol": "LL", "replicas": 1, "threads": 32, "us": 2.5}]}]}
`

var hostileNumber = regexp.MustCompile(`\d+`)

// hostileFiles makes files out of good, one for each trick.
func hostileFiles(good []byte, ext string) (files []hostileFile) {
	random := rand.New(rand.NewPCG(1, uint64(len(ext))))
	text := func(name string, text []byte, bad bool) {
		files = append(files, hostileFile{name: name, text: text, bad: bad})
	}
	opening := map[string]string{"xml": "<a>", "mscl": "("}[ext]
	if opening == "" {
		opening = "["
	}
	for i := range 3 {
		text(fmt.Sprint("truncated", i), good[:len(good)*(i+1)/5], ext != "table")
		flipped := bytes.Clone(good)
		for range 1 + i {
			flipped[random.IntN(len(flipped))] = byte(random.IntN(256))
		}
		text(fmt.Sprint("flipped", i), flipped, false)
		text(fmt.Sprint("numbers", i), hostileNumber.ReplaceAllFunc(good, func(n []byte) []byte {
			same, long := string(n), strings.Repeat("9", 30)
			values := []string{same, same, same, long, "-1", "2147483648", "9223372036854775807", "0"}
			return []byte(values[random.IntN(len(values))])
		}), false)
	}
	text("empty", nil, true)
	text("nul", make([]byte, 5000), true)
	text("line", bytes.Repeat([]byte("a"), 1<<20), true)
	text("deep", bytes.Repeat([]byte(opening), 100_000), true)
	text("deep later", append(bytes.Clone(good[:len(good)/2]), bytes.Repeat([]byte(opening), 100_000)...), true)
	text("another type", []byte(`{"gpus":3,"name":[],"collective":{},"rules":7}`), true)
	text("blank", append(bytes.Repeat([]byte(" \n"), 1<<19), good...), false)
	for _, c := range [][2]string{{"cycle", "in." + ext}, {"traversal", "../../../../../../etc/passwd"}} {
		text(c[0], fmt.Appendf(nil, "algorithm a(ranks = 2)\nimport %q\ncollective allgather(ranks)\n", c[1]), true)
	}
	kind := func(name string, make func(string) error, huge bool) {
		files = append(files, hostileFile{name: name, make: make, bad: true, huge: huge})
	}
	kind("loop", func(name string) error { return os.Symlink(filepath.Base(name), name) }, false)
	kind("gone", func(name string) error { return os.Symlink("nothing", name) }, false)
	kind("zeros", func(name string) error { return os.Symlink("/dev/zero", name) }, true)
	kind("pipe", func(name string) error { return syscall.Mkfifo(name, 0o600) }, false)
	kind("folder", func(name string) error { return os.Mkdir(name, 0o700) }, false)
	kind("sparse", func(name string) error {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			return err
		}
		return os.Truncate(name, 3<<30)
	}, true)
	for i := range files {
		files[i].name += "/in." + ext
	}
	return files
}

// judgeHostile runs a command on a file that lies alone in a folder, and returns its exit code.
func judgeHostile(t *testing.T, command string, h hostileFile) int {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	name := filepath.Base(h.name)
	if h.make == nil {
		h.make = func(name string) error { return os.WriteFile(name, h.text, 0o600) }
	}
	if err := h.make(name); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	code := main1(strings.Fields(strings.ReplaceAll(command, "@", name)), strings.NewReader(""), &stdout, &stderr)
	runtime.ReadMemStats(&after)

	wrong := func(format string, args ...any) {
		t.Errorf("%s of %s: exit code %d, %s\n%.500s", command, h.name, code, fmt.Sprintf(format, args...), stderr.String())
	}
	if code < cli.ExitGood || code > cli.ExitMachine {
		wrong("not 0 to 3")
	}
	if code != cli.ExitInput && h.bad && strings.HasPrefix(command, "verify") {
		wrong("want %d", cli.ExitInput)
	}
	if code != cli.ExitGood && stderr.Len() == 0 && !strings.HasPrefix(command, "verify") {
		wrong("and no message")
	}
	for line := range strings.Lines(stderr.String()) {
		if len(line) > 2000 || strings.ContainsFunc(strings.TrimSuffix(line, "\n"), unicode.IsControl) {
			wrong("and a line that is long or unprintable: %.100q", line)
			break
		}
	}
	limit := uint64(hostileMemory)
	if h.huge {
		limit = hugeMemory
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > limit {
		wrong("%d MiB allocated", got>>20)
	}
	judgeLeft(name, command, h, code, wrong)
	return code
}

// judgeLeft looks at what a command has left in its folder.
func judgeLeft(name, command string, h hostileFile, code int, wrong func(string, ...any)) {
	left, err := os.ReadDir(".")
	if err != nil {
		wrong("%v", err)
	}
	for _, e := range left {
		output := strings.HasPrefix(e.Name(), "out") && (code == cli.ExitGood || strings.Contains(command, "--sarif"))
		if e.Name() != name && !output {
			wrong("%s is left", e.Name())
		}
	}
	if h.text == nil || code == cli.ExitGood && strings.HasPrefix(command, "fmt -w") {
		return
	}
	if text, err := os.ReadFile(name); err != nil || !bytes.Equal(text, h.text) {
		wrong("the input is changed: %v", err)
	}
}
