package runtime_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A sample is a line of Prometheus' text format.
type sample struct {
	name   string
	labels map[string]string
	value  float64
}

var (
	sampleLine = regexp.MustCompile(`^([a-z_]+)\{([^}]*)\} (\+Inf|[0-9.e+-]+)$`)
	labelPart  = regexp.MustCompile(`^([a-z_]+)="((?:[^"\\]|\\["\\n])*)"(,|$)`)
	headLine   = regexp.MustCompile(`^# (HELP|TYPE) ([a-z_]+) (.+)$`)
)

// samples reads metrics as a strict collector does: HELP and TYPE stand before the samples of each metric, which stand
// together, none twice. Counters end in _total, and histograms count up.
func samples(t *testing.T, text string) (list []sample) {
	t.Helper()
	kinds, done, seen := map[string]string{}, map[string]bool{}, map[string]bool{}
	now := ""
	if !strings.HasSuffix(text, "\n") {
		t.Errorf("the last line does not end")
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if m := headLine.FindStringSubmatch(line); m != nil {
			if m[1] == "HELP" {
				if done[m[2]] {
					t.Errorf("%s has two parts", m[2])
				}
				now, done[m[2]] = m[2], true
			} else if kinds[m[2]] = m[3]; m[2] != now || !slices.Contains([]string{"counter", "gauge", "histogram"}, m[3]) {
				t.Errorf("%q is out of place", line)
			}
			if strings.HasSuffix(m[2], "_total") != (kinds[m[2]] == "counter") && m[1] == "TYPE" {
				t.Errorf("%s is a %s", m[2], m[3])
			}
			continue
		}
		m := sampleLine.FindStringSubmatch(line)
		if m == nil || seen[m[1]+m[2]] {
			t.Fatalf("line %q", line)
		}
		seen[m[1]+m[2]] = true
		s := sample{name: m[1], labels: map[string]string{}}
		for rest := m[2]; rest != ""; {
			p := labelPart.FindStringSubmatch(rest)
			if p == nil || s.labels[p[1]] != "" {
				t.Fatalf("labels %q", m[2])
			}
			s.labels[p[1]], rest = p[2], rest[len(p[0]):]
		}
		base := s.name
		if kinds[now] == "histogram" {
			base = regexp.MustCompile("_(bucket|sum|count)$").ReplaceAllString(base, "")
		}
		if base != now {
			t.Errorf("%q stands among %s", line, now)
		}
		var err error
		if s.value, err = strconv.ParseFloat(m[3], 64); err != nil {
			t.Error(err)
		}
		list = append(list, s)
	}
	return list
}

// total adds the samples of a name that have some labels.
func total(list []sample, name string, labels ...string) (sum float64, n int) {
	for _, s := range list {
		has := s.name == name
		for i := 0; i < len(labels); i += 2 {
			has = has && s.labels[labels[i]] == labels[i+1]
		}
		if has {
			sum, n = sum+s.value, n+1
		}
	}
	return sum, n
}

// metricsOf reads the files of metrics in a folder, by process.
func metricsOf(t *testing.T, dir string, processes int) (all [][]sample) {
	t.Helper()
	names, _ := filepath.Glob(filepath.Join(dir, "mscclc-*.prom"))
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, samples(t, string(text)))
	}
	if len(all) != processes {
		t.Fatalf("%d files of metrics, not %d", len(all), processes)
	}
	left, _ := filepath.Glob(filepath.Join(dir, ".*"))
	if len(left) > 0 {
		t.Errorf("files are left over: %q", left)
	}
	return all
}

// TestFrontMetrics: each process writes calls, bytes, reasons and times as Prometheus reads them.
func TestFrontMetrics(t *testing.T) {
	dir := t.TempDir()
	s := site{how: "preload", ranks: 2, bundle: wholeBundle(t, 2), env: []string{"MSCCLC_METRICS=" + dir, "MSCCLC_PERIOD=0.05"}}
	commands := []string{"init 0"}
	for range 70 {
		commands = append(commands, "allreduce 0 1000 7 0 0 0")
	}
	for range 64 { // NCCL's, as PyTorch calls it
		commands = append(commands, "start", "reduce 0 10 10 0 0 0", "end")
	}
	for range 64 { // several calls of NCCL's in a group have no time of their own
		commands = append(commands, "start", "reduce 0 10 10 0 0 0", "reduce 0 10 10 0 1 0", "end")
	}
	commands = append(commands, "start", "allgather 0 50 9 0 0 1", "end", "sync", "sleep 300", "destroy 0")
	s.do(t, commands...).well(t)
	for _, m := range metricsOf(t, dir, 2) {
		for _, c := range []struct {
			name   string
			labels []string
			want   float64
		}{
			{"mscclc_calls_total", []string{"function", "ncclAllReduce", "native", "true", "reason", ""}, 70},
			{"mscclc_bytes_total", []string{"function", "ncclAllReduce", "native", "true"}, 280000},
			{"mscclc_bytes_total", []string{"function", "ncclAllGather"}, 200},
			{"mscclc_calls_total", []string{"function", "ncclReduce", "native", "false"}, 192},
			{"mscclc_call_seconds_count", []string{"function", "ncclReduce", "native", "false"}, 1},
			{"mscclc_call_seconds_count", []string{"native", "false"}, 1},
			{"mscclc_call_seconds_count", []string{"function", "ncclAllReduce", "native", "true"}, 1},
			{"mscclc_call_seconds_bucket", []string{"le", "+Inf"}, 2},
			{"mscclc_communicators", []string{"state", "native"}, 0},
			{"mscclc_failures_total", nil, 0},
			{"mscclc_info", nil, 1},
		} {
			if got, n := total(m, c.name, c.labels...); got != c.want || n == 0 {
				t.Errorf("%s%q is %v in %d samples, not %v", c.name, c.labels, got, n, c.want)
			}
		}
		if sum, _ := total(m, "mscclc_call_seconds_sum"); sum <= 0 || sum > 60 {
			t.Errorf("the time is %v s", sum)
		}
	}
}

// TestFrontMetricsWhileItRuns: files have the communicators of a job that runs, and what was called so far. A file of
// counts for each process is whole at any time.
func TestFrontMetricsWhileItRuns(t *testing.T) {
	dir, stats := t.TempDir(), filepath.Join(t.TempDir(), "stats-%h-%p")
	s := site{how: "preload", ranks: 2, bundle: wholeBundle(t, 2), env: []string{"MSCCLC_METRICS=" + dir, "MSCCLC_PERIOD=0.05",
		"MSCCLC_STATS=" + stats}}
	s.do(t, "init 0", "allreduce 0 1000 7 0 0 0", "sync", "sleep 500", "kill 0", "kill 1")
	for _, m := range metricsOf(t, dir, 2) {
		communicators, _ := total(m, "mscclc_communicators", "state", "native")
		arena, _ := total(m, "mscclc_arena_bytes")
		calls, _ := total(m, "mscclc_calls_total")
		if communicators != 1 || arena < 1<<20 || calls != 1 {
			t.Errorf("%v communicators with %v bytes and %v calls", communicators, arena, calls)
		}
	}
	names, _ := filepath.Glob(filepath.Join(filepath.Dir(stats), "*"))
	if len(names) != 2 {
		t.Errorf("counts are in %q", names)
	}
	for _, name := range names {
		var line struct {
			Calls []struct {
				Function string
				Calls    int
			}
		}
		text, err := os.ReadFile(name)
		if err == nil {
			err = json.Unmarshal(text, &line)
		}
		if err != nil || len(line.Calls) != 1 || line.Calls[0].Calls != 1 {
			t.Errorf("%s has %v: %s", name, err, text)
		}
	}
}

// TestFrontUnwritten: a folder of metrics that is missing, removed or full, and a file of counts on a full disk, have a
// warning in each process, and the job goes on.
func TestFrontUnwritten(t *testing.T) {
	full := "/dev/full"
	if _, err := os.Stat(full); err != nil {
		t.Skip(err)
	}
	removed := filepath.Join(t.TempDir(), "metrics")
	if err := os.Mkdir(removed, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ env, command, want string }{
		"missing": {"MSCCLC_METRICS=/nowhere/metrics", "sleep 0", "MSCCLC_METRICS=/nowhere/metrics cannot be written: No such file"},
		"removed": {"MSCCLC_METRICS=" + removed, "remove " + removed, "cannot be written: No such file"},
		"file":    {"MSCCLC_METRICS=/dev/null", "sleep 0", "MSCCLC_METRICS=/dev/null is no folder: name a folder"},
		"full":    {"MSCCLC_STATS=" + full, "sleep 0", "MSCCLC_STATS=/dev/full cannot be written: No space left"},
	} {
		t.Run(name, func(t *testing.T) {
			s := site{how: "preload", ranks: 1, threads: false, bundle: "testdata/client/client.h", mock: true,
				env: []string{c.env, "MSCCLC_PERIOD=0.02"}}
			r := s.do(t, "init 0", "allreduce 0 10 7 0 0 0", "sync", c.command, "sleep 300", "allreduce 0 10 7 0 0 0", "sync",
				"destroy 0").well(t)
			if strings.Count(r.output, c.want) != 1 && name != "missing" && name != "file" {
				t.Errorf("the output is\n%s", r.output)
			}
			if !strings.Contains(r.output, c.want) {
				t.Errorf("%q is not in the output:\n%s", c.want, r.output)
			}
		})
	}
}

// TestFrontPipes: a named pipe that nobody reads, as the file of counts or of log lines, has a warning, and the job
// goes on.
func TestFrontPipes(t *testing.T) {
	for _, variable := range []string{"MSCCLC_STATS", "MSCCLC_DEBUG_FILE"} {
		t.Run(variable, func(t *testing.T) {
			pipe := filepath.Join(t.TempDir(), "pipe")
			if err := exec.Command("mkfifo", pipe).Run(); err != nil {
				t.Fatal(err)
			}
			s := site{how: "preload", ranks: 2, bundle: wholeBundle(t, 2), env: []string{variable + "=" + pipe, "MSCCLC_DEBUG=INFO"}}
			r := s.do(t, "init 0", "allreduce 0 10 7 0 0 0 v", "sync", "destroy 0").well(t)
			if want := variable + "=" + pipe + " cannot be written: No such device"; !strings.Contains(r.output, want) {
				t.Errorf("%q is not in the output:\n%s", want, r.output)
			}
		})
	}
}
