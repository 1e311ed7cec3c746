package algorithms_test

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"mscclc/algorithms"
	"mscclc/internal/covering"
	"mscclc/lang"
	"mscclc/lang/syntax"
)

// A program is one file of the catalog or the examples.
type program struct {
	name   string // as the command takes it
	file   string
	text   []byte
	tree   *syntax.File
	open   func(string) ([]byte, error)
	params []string // that it has
}

// TestMain lets garbage lie longer than usual: tests allocate much and keep little.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	if !covering.Full() {
		debug.SetMemoryLimit(4 << 30) // from here on it is collected more
	}
	os.Exit(m.Run())
}

// leastPrograms is how many programs there must be.
const leastPrograms = 60

func programs(t *testing.T) []program {
	t.Helper()
	var all []program
	add := func(name, file string, text []byte, open func(string) ([]byte, error)) {
		f, err := syntax.Parse(file, text)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range f.Stmts {
			if a, ok := s.(*syntax.Algorithm); ok {
				p := program{name: name, file: file, text: text, tree: f, open: open}
				for _, param := range a.Params {
					p.params = append(p.params, param.Name)
				}
				all = append(all, p)
				if want := strings.TrimSuffix(filepath.Base(file), ".mscl"); a.Name != want {
					t.Errorf("%s holds algorithm %s, and should hold %s", file, a.Name, want)
				}
			}
		}
	}
	for _, name := range algorithms.Names() {
		if strings.HasPrefix(name, "rows/") {
			continue // their calls have rows: TestRows
		}
		text, err := algorithms.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		add(name, name+".mscl", text, algorithms.Open)
	}
	files, err := filepath.Glob("../examples/*.mscl")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		add(strings.TrimSuffix(strings.TrimPrefix(file, "../"), ".mscl"), file, text, nil)
	}
	if len(all) < leastPrograms {
		t.Fatalf("%d programs, want at least %d", len(all), leastPrograms)
	}
	return all
}

func TestProgramsAreMany(t *testing.T) {
	all := programs(t)
	t.Logf("%d programs", len(all))
	for _, p := range all {
		t.Log(p.name)
	}
}

// shapes returns the parameters that p is tried with: 2 to 17 ranks.
func (p *program) shapes() []lang.Params {
	var shapes []lang.Params
	switch {
	case slices.Contains(p.params, "nodes"):
		for nodes := 2; nodes <= 8; nodes++ {
			for gpus := 2; nodes*gpus <= 16; gpus++ {
				shapes = append(shapes, lang.Params{"nodes": nodes, "gpus": gpus})
			}
		}
		for _, s := range [][2]int{{2, 1}, {1, 3}, {5, 1}, {1, 7}, {11, 1}, {1, 13}, {17, 1}, {1, 17}} {
			shapes = append(shapes, lang.Params{"nodes": s[0], "gpus": s[1]})
		}
	case slices.Contains(p.params, "ranks"):
		for ranks := 2; ranks <= 17; ranks++ {
			shapes = append(shapes, lang.Params{"ranks": ranks})
		}
	}
	for i, s := range shapes {
		for _, name := range p.params {
			switch name {
			case "ranks", "nodes", "gpus":
			case "root":
				s[name] = i % 2 * (i + 1) // there are i + 2 ranks
			case "channels":
				s[name] = 1 + i%3
			case "distance":
				s[name] = i%5 - 2
			case "ordered":
				s[name] = i%2 == 1
			}
		}
		p.divide(s)
	}
	return shapes
}

// divide sets the parameters of s that must divide others: rows of a torus divide the ranks, boards a node's GPUs. They
// are as near to the root as they can be; eight ranks are one row.
func (p *program) divide(s lang.Params) {
	for part, whole := range map[string]string{"rows": "ranks", "boards": "gpus"} {
		n, _ := s[whole].(int)
		if !slices.Contains(p.params, part) {
			continue
		}
		s[part] = 1
		for d := 1; d*d <= n && (n != 8 || part == "boards"); d++ {
			if n%d == 0 {
				s[part] = d
			}
		}
	}
}
