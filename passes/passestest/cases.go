package passestest

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// Cases runs the cases of a txtar file, and compares or, with MSCCLC_UPDATE, rewrites what comes out. A case has the
// sections NAME/options, which may be left out, NAME/in and NAME/out. run returns what the pass makes of in.
func Cases(t *testing.T, file string, run func(t *testing.T, in string, options []Option) string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var options, in string
	seen := map[string]bool{}
	for i := range archive.Files {
		f := &archive.Files[i]
		name, section, _ := strings.Cut(f.Name, "/")
		switch section {
		case "options":
			options = string(f.Data)
		case "in":
			in = string(f.Data)
		case "out":
			if in == "" || seen[name] {
				t.Fatalf("%s: %s has no input of its own", file, f.Name)
			}
			seen[name] = true
			t.Run(name, func(t *testing.T) {
				got := run(t, in, optionsOf(t, options))
				if os.Getenv("MSCCLC_UPDATE") != "" {
					f.Data = []byte(got)
				} else if diff := cmp.Diff(string(f.Data), got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
			options, in = "", ""
		default:
			t.Errorf("%s: %s is no section of a case", file, f.Name)
		}
	}
	if in != "" || len(seen) < 2 {
		t.Errorf("%s: a case lacks its output, or there are hardly any", file)
	}
	if os.Getenv("MSCCLC_UPDATE") != "" {
		if err := os.WriteFile(file, txtar.Format(archive), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// An Option is a word of the options of a case, and its number.
type Option struct {
	Name  string
	Value int
}

// optionsOf reads words and numbers in pairs.
func optionsOf(t *testing.T, text string) (list []Option) {
	words := strings.Fields(text)
	if len(words)%2 != 0 {
		t.Fatalf("options %q are no pairs", text)
	}
	for ; len(words) > 0; words = words[2:] {
		n, err := strconv.Atoi(words[1])
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, Option{words[0], n})
	}
	return list
}

// A Row is a row of a table of passes, whose properties are of type P.
type Row[P property] struct {
	Name, Doc    string
	Required     bool
	Needs, Gives P
}

type property interface {
	~uint
	fmt.Stringer
}

// Table checks that every pass finds the properties it needs, at -O0 and with each optional pass off, and that a pass
// has the name of its file. have is what holds before the first pass; Table returns what holds after all.
func Table[P property](t *testing.T, have P, rows []Row[P]) P {
	for _, p := range rows {
		if missing := p.Needs &^ have; missing != 0 {
			t.Errorf("%s needs %v, which no required pass before it gives", p.Name, missing)
		}
		if p.Required {
			have |= p.Gives
		} else if p.Gives != 0 {
			t.Errorf("%s is optional but gives %v", p.Name, p.Gives)
		}
		if _, err := os.Stat(p.Name + ".go"); err != nil {
			t.Errorf("pass %s: %v", p.Name, err)
		}
		if p.Doc == "" || strings.HasSuffix(p.Doc, ".") {
			t.Errorf("pass %s: doc %q is no line without full stop", p.Name, p.Doc)
		}
	}
	return have
}
