package runtime_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// saidLine is a line of MSCCLC_DEBUG.
var saidLine = regexp.MustCompile(`(?m)^mscclc ([A-Z]+) \[[0-9]+\] .+$`)

// kindsOf returns the levels of the lines of a text, without repetitions.
func kindsOf(text string) string {
	var kinds []string
	for _, m := range saidLine.FindAllStringSubmatch(text, -1) {
		kinds = append(kinds, m[1])
	}
	slices.Sort(kinds)
	return strings.Join(slices.Compact(kinds), " ")
}

// TestFrontDebug: MSCCLC_DEBUG prints by levels as NCCL_DEBUG does, to stderr or to a file of each process.
func TestFrontDebug(t *testing.T) {
	call := []string{"init 0", "allreduce 0 10 7 0 0 0", "sync", "destroy 0"}
	bundle := wholeBundle(t, 2)
	for _, c := range []struct{ level, file, stderr, files string }{
		{"", "%p", "", ""},
		{"none", "%p", "", ""},
		{"VERSION", "%p", "VERSION", ""},
		{"WARN", "", "VERSION", ""},
		{"info", "", "INFO VERSION", ""},
		{"TRACE", "", "INFO TRACE VERSION", ""},
		{"INFO", "%h-%p-%%-%x.log", "", "INFO VERSION"},
		{"INFO", "missing/%p", "INFO VERSION WARN", ""},
	} {
		t.Run(c.level+strings.ReplaceAll(c.file, "%", ""), func(t *testing.T) {
			dir := t.TempDir()
			env := []string{"MSCCLC_DEBUG=" + c.level}
			if c.file != "" {
				env = append(env, "MSCCLC_DEBUG_FILE="+filepath.Join(dir, c.file))
			}
			s := site{how: "preload", ranks: 2, bundle: bundle, env: env}
			r := s.do(t, call...).well(t)
			if got := kindsOf(r.output); got != c.stderr {
				t.Errorf("stderr has %q:\n%s", got, r.output)
			}
			if c.level == "TRACE" && strings.Count(r.output, "ncclAllReduce: native\n") != 2 {
				t.Errorf("calls are\n%s", r.output)
			}
			missing := strings.Contains(r.output, "cannot be written: No such file")
			if missing != strings.HasPrefix(c.file, "missing") {
				t.Errorf("stderr is\n%s", r.output)
			}
			entries, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			host, _ := os.Hostname()
			host, _, _ = strings.Cut(host, ".")
			name := regexp.MustCompile("^" + regexp.QuoteMeta(host) + `-[0-9]+-%-%x\.log$`)
			if want := map[bool]int{false: 0, true: 2}[c.files != ""]; len(entries) != want {
				t.Errorf("%d files, not %d", len(entries), want)
			}
			for _, e := range entries {
				text, err := os.ReadFile(filepath.Join(dir, e.Name()))
				if err != nil || kindsOf(string(text)) != c.files || !name.MatchString(e.Name()) {
					t.Errorf("%s has, %v:\n%s", e.Name(), err, text)
				}
			}
		})
	}
}

// TestFrontLines: a line says when, where, and which call of which communicator it is about. Both ranks of a
// communicator have one name for it.
func TestFrontLines(t *testing.T) {
	s := site{how: "preload", ranks: 2, bundle: wholeBundle(t, 2), env: []string{"MSCCLC_DEBUG=TRACE"}}
	r := s.do(t, "init 0", "allreduce 0 10 7 0 0 0", "allreduce 0 10 7 0 0 0", "sync", "destroy 0").well(t)
	host, _ := os.Hostname()
	host, _, _ = strings.Cut(host, ".")
	line := regexp.MustCompile(`(?m)^mscclc TRACE \[\d+\] (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) ` + regexp.QuoteMeta(host) +
		` rank=([01])/2 comm=([0-9a-f]{8}) call=([12]): ncclAllReduce: native$`)
	names := map[string]int{}
	for _, m := range line.FindAllStringSubmatch(r.output, -1) {
		if at, err := time.Parse(time.RFC3339, m[1]); err != nil || time.Since(at).Abs() > 10*time.Minute {
			t.Errorf("the time is %s: %v", m[1], err)
		}
		names[m[3]]++
	}
	if len(names) != 1 || len(line.FindAllString(r.output, -1)) != 4 {
		t.Errorf("communicators are %v:\n%s", names, r.output)
	}
}

// TestFrontOnce: a warning of one cause is printed once in a process, whatever communicator it is about, and its count
// at the end.
func TestFrontOnce(t *testing.T) {
	s := site{how: "preload", mock: true, ranks: 2, bundle: "none"}
	commands := []string{}
	for i := range 10 {
		commands = append(commands, fmt.Sprint("init ", i))
	}
	r := s.do(t, commands...).well(t)
	const want = "NCCL runs all calls of this communicator of 2 ranks"
	if n := strings.Count(r.output, want); n != 3 || strings.Count(r.output, "8 warnings like this one: "+want) != 1 ||
		strings.Count(r.output, "10 warnings in all like this one: "+want) != 1 {
		t.Errorf("%d lines:\n%s", n, r.output)
	}
}
