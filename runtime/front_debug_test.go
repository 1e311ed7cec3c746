package runtime_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
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
