package lang

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"mscclc/ir/diag"
	"mscclc/lang/syntax"
)

// The files of testdata/errors hold cases, separated by lines of ---. A line
// `--- NAME` starts a file that the case may import. Comments say what is
// reported:
//
//	# ERROR "rx" "rx"   on this line; rx matches "text [code]; hint"
//	# ERROR^ "rx"       on the line above
//	# NOTE "rx"         a note points at this line
//	# SET inplace=true ranks=3 limit.steps=100
var (
	markRx   = regexp.MustCompile(`# (ERROR|NOTE)(\^*) (".*")`)
	quotedRx = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	setRx    = regexp.MustCompile(`# SET (.*)`)
)

// An errorCase is one file with what is expected of it.
type errorCase struct {
	name  string
	src   string
	files map[string]string
	opt   Options
	want  map[string][]string // "ERROR file:line" -> patterns
}

func errorCases(t testing.TB) []*errorCase {
	names, err := filepath.Glob("testdata/errors/*.mscl")
	if err != nil || len(names) == 0 {
		t.Fatal("no error tests", err)
	}
	var cases []*errorCase
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		cases = append(cases, readErrorCases(t, name, string(data))...)
	}
	return cases
}

// readErrorCases splits one file. Cases are padded so that lines keep their
// numbers.
func readErrorCases(t testing.TB, name, data string) []*errorCase {
	var cases []*errorCase
	var c *errorCase
	file, start := "", 0
	var text []string
	flush := func(end int) {
		src := strings.Repeat("\n", start) + strings.Join(text, "\n") + "\n"
		if file == "" {
			c = &errorCase{name: fmt.Sprintf("%s:%d", name, start+1), src: src, files: map[string]string{},
				want: map[string][]string{}}
			cases = append(cases, c)
			file = name
		} else {
			c.files[filepath.Join(filepath.Dir(name), file)] = src
			file = filepath.Join(filepath.Dir(name), file)
		}
		c.expect(t, file, start, text)
		text, start = nil, end
	}
	lines := strings.Split(strings.TrimSuffix(data, "\n"), "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, "---") {
			flush(i + 1)
			file = strings.TrimSpace(l[3:])
			continue
		}
		text = append(text, l)
	}
	flush(0)
	return cases
}

func (c *errorCase) expect(t testing.TB, file string, start int, text []string) {
	for i, l := range text {
		for _, set := range setRx.FindAllStringSubmatch(l, -1) {
			c.set(t, set[1])
		}
		m := markRx.FindStringSubmatch(l)
		if m == nil {
			continue
		}
		key := fmt.Sprintf("%s %s:%d", m[1], file, start+i+1-len(m[2]))
		for _, q := range quotedRx.FindAllString(m[3], -1) {
			rx, err := strconv.Unquote(q)
			if err != nil {
				t.Fatalf("%s: %s: %v", c.name, q, err)
			}
			c.want[key] = append(c.want[key], rx)
		}
	}
}

func (c *errorCase) set(t testing.TB, text string) {
	for _, word := range strings.Fields(text) {
		k, v, _ := strings.Cut(word, "=")
		switch {
		case k == "inplace":
			b := v == "true"
			c.opt.Inplace = &b
		case strings.HasPrefix(k, "limit."):
			n, err := strconv.ParseInt(v, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.opt.Limits.Set(k[6:], n); err != nil {
				t.Fatal(err)
			}
		default:
			if c.opt.Params == nil {
				c.opt.Params = Params{}
			}
			c.opt.Params[k] = v
		}
	}
}

// run returns the errors of the case.
func (c *errorCase) run(t testing.TB) diag.List {
	c.opt.Open = func(path string) ([]byte, error) {
		if src, ok := c.files[path]; ok {
			return []byte(src), nil
		}
		return nil, fs.ErrNotExist
	}
	file := c.name[:strings.LastIndexByte(c.name, ':')]
	f, err := syntax.ParseLimited(file, []byte(c.src), c.opt.Limits)
	if err == nil {
		var x *Expansion
		if x, err = ExpandLevel(f, c.opt); err == nil && x.Channels != nil {
			_, err = Expand(f, c.opt)
		}
	}
	var list diag.List
	if err != nil && !errors.As(err, &list) {
		t.Fatalf("%v is no diag.List", err)
	}
	return list
}

func TestErrors(t *testing.T) {
	for _, c := range errorCases(t) {
		t.Run(c.name, func(t *testing.T) {
			list := c.run(t)
			if len(list) == 0 {
				t.Error("no error was reported")
			}
			want := map[string][]string{}
			for k, v := range c.want {
				want[k] = append([]string(nil), v...)
			}
			for _, d := range list {
				key := fmt.Sprintf("ERROR %s:%d", d.Span.Filename, d.Span.Line)
				said := fmt.Sprintf("%s [%s]; %s", d.Text, d.Code, d.Hint)
				if !take(want, key, said) {
					t.Errorf("%s:%d:%d: not expected: %s", d.Span.Filename, d.Span.Line, d.Span.Column, said)
				}
				for _, n := range d.Notes {
					take(want, fmt.Sprintf("NOTE %s:%d", n.Span.Filename, n.Span.Line), n.Text)
				}
				c.checkSpan(t, d.Span)
			}
			for key, rest := range want {
				for _, rx := range rest {
					t.Errorf("%s: nothing matches %q", key, rx)
				}
			}
		})
	}
}

// take removes the first pattern at key that matches.
func take(want map[string][]string, key, said string) bool {
	for i, rx := range want[key] {
		if regexp.MustCompile(rx).MatchString(said) {
			want[key] = append(want[key][:i], want[key][i+1:]...)
			return true
		}
	}
	return false
}

// checkSpan sees that a span lies on its line.
func (c *errorCase) checkSpan(t *testing.T, s diag.Span) {
	src := c.src
	if other, ok := c.files[s.Filename]; ok {
		src = other
	}
	lines := strings.Split(src, "\n")
	if s.Line < 1 || s.Line > len(lines) || s.Column < 1 || s.Len < 1 || s.Column-1+s.Len > len(lines[s.Line-1])+1 {
		t.Errorf("span %v, %d long, is not on its line", s.Pos, s.Len)
	} else if at := strings.Join(lines[:s.Line-1], "\n"); s.Line > 1 && len(at)+s.Column != s.Offset {
		t.Errorf("span %v has offset %d", s.Pos, s.Offset)
	}
}

// TestEveryCode sees that each code that this package reports has a case.
func TestEveryCode(t *testing.T) {
	codes, err := os.ReadFile("../ir/diag/codes.go")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\t(\w+)\s+Code = "([\w-]+)"`).FindAllStringSubmatch(string(codes), -1) {
		known[m[1]] = m[2]
	}
	used := map[string]bool{}
	sources, _ := filepath.Glob("*.go")
	for _, name := range sources {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		src, _ := os.ReadFile(name)
		for _, m := range regexp.MustCompile(`diag\.(\w+)`).FindAllStringSubmatch(string(src), -1) {
			if code, ok := known[m[1]]; ok {
				used[code] = true
			}
		}
	}
	for _, c := range errorCases(t) {
		for _, d := range c.run(t) {
			delete(used, string(d.Code))
		}
	}
	if len(known) < 20 {
		t.Fatalf("only %d codes found", len(known))
	}
	for code := range used {
		t.Errorf("no case is rejected with %q", code)
	}
}
