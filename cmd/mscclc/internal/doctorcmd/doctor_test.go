package doctorcmd

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var begin = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// stamp writes a time a given number of seconds after begin.
func stamp(seconds int) string {
	return begin.Add(time.Duration(seconds) * time.Second).Format(time.RFC3339)
}

// A rankFile is the contents of a rank's file: when it was written, how many calls it made, 10 s apart, and the
// failure. The last call is open.
type rankFile struct {
	rank, written, calls int
	failure              string
}

func (f rankFile) text(ranks int) string {
	var last []string
	for n := 1; n <= f.calls; n++ {
		state := "ended"
		if n == f.calls && n > 1 {
			state = "open"
		}
		last = append(last, fmt.Sprintf(`{"number":%d,"call":%[1]d,"function":"ncclAllReduce","count":%d,"type":"f32","op":"sum",
"native":true,"time":"%s","state":"%s"}`, n, 10+f.rank*(f.calls/9), stamp(10*n), state))
	}
	return fmt.Sprintf(`{"schema":1,"host":"a","pid":%d,"time":"%s","written":"","communicators":[{"name":"1a2b","id":"1a2b",
"rank":%[1]d,"ranks":%[3]d,"state":"native","failure":"%s","calls":%d,"last":[%s]}]}`, f.rank, stamp(f.written), ranks,
		f.failure, f.calls, strings.Join(last, ","))
}

// judged returns the problems that are found in what some ranks of one communicator wrote.
func judged(t *testing.T, ranks, damaged int, files ...rankFile) []string {
	t.Helper()
	var list []*record
	for _, f := range files {
		r, err := parse("x.calls.json", []byte(f.text(ranks)))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	return judge(group(list)[0], damaged, 30*time.Second).Problems
}

// TestMissingFiles: of a rank without a file, only that is said. A rank whose file is older than a call is not blamed
// for that call.
func TestMissingFiles(t *testing.T) {
	const ended = "the process of rank 1 (7) has ended"
	missing := "no file has rank 1: a process that has ended by a signal writes none, and others may have another folder"
	for name, c := range map[string]struct {
		ranks, damaged int
		files          []rankFile
		want           []string
	}{
		"killed": {2, 0, []rankFile{{0, 21, 2, ended}}, []string{missing, "rank 0 has failed: " + ended,
			"call 2, ncclAllReduce of 10 f32 sum, has not ended on rank 0: no file says whether rank 1 made it"}},
		"damaged": {2, 1, []rankFile{{0, 21, 2, ""}}, []string{"rank 1 may be in what could not be read: 1 file is damaged"}},
		"late": {3, 0, []rankFile{{0, 90, 2, ""}, {2, 90, 1, ""}}, []string{missing,
			"rank 2 has made only 1 call: call 2, ncclAllReduce of 10 f32 sum, was made by rank 0 70 s before the file was written",
			"no file says whether rank 1 made call 2"}},
		"older": {2, 0, []rankFile{{0, 90, 2, ""}, {1, 15, 1, ""}}, []string{
			"call 2, ncclAllReduce of 10 f32 sum, of rank 0 is later than what is written of rank 1: nothing says whether it was made there"}},
		"three": {3, 0, []rankFile{{0, 91, 9, ""}, {1, 91, 9, ""}, {2, 91, 9, ""}}, []string{
			"call 1 does not match: rank 0 called ncclAllReduce of 10 f32 sum; rank 1 called ncclAllReduce of 11 f32 sum; rank 2 called ncclAllReduce of 12 f32 sum"}},
	} {
		if got := judged(t, c.ranks, c.damaged, c.files...); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%s\nnot\n%s", name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// TestDamagedFiles: what is wrong with a file is said in one line with its position, in words of this project.
func TestDamagedFiles(t *testing.T) {
	good := rankFile{0, 21, 2, ""}.text(2)
	dir := t.TempDir()
	for old, c := range map[string]struct{ fresh, want string }{
		`"calls":2`:         {`"calls":null`, "line 2, column 58: "},
		`"schema":1`:        {`"schema":2`, "it has schema 2, and mscclc "},
		`"rank":0`:          {`"rank":5`, "communicator 1a2b has rank 5 of 2"},
		`"pid":0`:           {`"pid":"a"`, "line 1, column "},
		stamp(21):           {"yesterday", `"yesterday" is no time such as`},
		`"ranks":2,`:        {``, `"ranks"`},
		`"calls":2,"last":`: {`"calls":1,"last":`, "communicator 1a2b has call 2 of 1"},
		good:                {good[:100], "line 1, column "},
	} {
		if strings.Count(good, old) != 1 {
			t.Fatalf("%s stands %d times in\n%s", old, strings.Count(good, old), good)
		}
		name := filepath.Join(dir, "x"+ending)
		if err := os.WriteFile(name, []byte(strings.Replace(good, old, c.fresh, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		list, damaged, err := readFolder(dir)
		if err != nil || len(list) != 0 || len(damaged) != 1 {
			t.Errorf("%s: %v, %d files, %d damaged", c.fresh, err, len(list), len(damaged))
			continue
		}
		why := damaged[0].Why
		inside := strings.Contains(why, "json:") || strings.Contains(why, "strconv") || strings.Contains(why, dir)
		if !strings.Contains(why, c.want) || inside || strings.Contains(why, "\n") {
			t.Errorf("%s: %s", c.fresh, why)
		}
	}
}
