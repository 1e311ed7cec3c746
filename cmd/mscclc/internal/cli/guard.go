package cli

import (
	"cmp"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"mscclc/files"
	"mscclc/ir/diag"
)

// A guard knows the files that a command reads and those that it is to write. It refuses an output that is an input, by
// whatever path, and two outputs that are one file. A command names its outputs before its work, and every file that it
// reads passes the guard, imports too, so that nothing is overwritten that was, or will be, read.
type guard struct {
	mu      sync.Mutex
	inputs  []guarded
	outputs []guarded
	given   map[string]bool // the inputs that the user named, by name
	refused error           // the first refusal of an input, after which nothing is written
}

// A guarded file has the name that the user gave it, and what the system knows it by: info is nil where it does not
// exist yet.
type guarded struct {
	flag, name, place string
	info              fs.FileInfo
}

func (g *guarded) same(o *guarded) bool {
	if g.info != nil && o.info != nil {
		return os.SameFile(g.info, o.info)
	}
	return g.info == nil && o.info == nil && g.place == o.place
}

// input notes that the command reads a file of a name, which the user gave it, or a file of the command imports.
func (g *guard) input(name string, info fs.FileInfo, given bool) error {
	if !info.Mode().IsRegular() {
		return nil // writing to it takes nothing from it
	}
	in := guarded{name: name, info: info}
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range g.outputs {
		if g.outputs[i].same(&in) {
			g.refused = cmp.Or(g.refused, overwrites(&g.outputs[i], &in))
			return g.refused
		}
	}
	if given {
		if g.given == nil {
			g.given = map[string]bool{}
		}
		g.given[name] = true
	}
	g.inputs = append(g.inputs, in)
	return nil
}

// Output notes that the command will write a file that flag names. It says why it could not, as far as that is known
// before.
func (g *guard) Output(flag, name string) error {
	if IsStdout(name) {
		return nil
	}
	if err := writable(name); err != nil {
		return err
	}
	out := guarded{flag: flag, name: name, place: resolved(name)}
	if abs, err := filepath.Abs(out.place); err == nil {
		out.place = abs
	}
	info, err := os.Stat(out.place)
	if err == nil && !info.Mode().IsRegular() {
		return nil
	} else if err == nil {
		out.info = info
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range g.inputs {
		if g.inputs[i].same(&out) {
			return overwrites(&out, &g.inputs[i])
		}
	}
	for i := range g.outputs {
		if o := &g.outputs[i]; o.same(&out) {
			return Usagef("%s %s and %s %s are the same file: name two", o.flag, o.name, flag, name)
		}
	}
	g.outputs = append(g.outputs, out)
	return nil
}

func overwrites(out, in *guarded) error {
	return Usagef("%s %s would overwrite %s, which the command reads: name another file", out.flag,
		diag.Printable(out.name), diag.Printable(in.name))
}

// refusal returns the error of an input that was refused, or nil. A language that imports makes another error of it.
func (g *guard) refusal() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.refused
}

// Named reports whether the user named a file as an input.
func (g *guard) named(name string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.given[name]
}

// Named are outputs by the flags that name them.
type Named map[string]string

// Claims notes what a command is to write and what it is to read, "" for nothing. An output that is an input is a worse
// mistake than one with a wrong ending, so endings are looked at last.
func (a *App) Claims(outputs Named, inputs ...string) error {
	for _, flag := range slices.Sorted(maps.Keys(outputs)) {
		if err := a.Guard.Output(flag, outputs[flag]); err != nil {
			return err
		}
	}
	for _, in := range inputs {
		if err := a.Guard.reads(a, in); err != nil {
			return err
		}
	}
	return a.wrongEnding(outputs)
}

// WrongEnding returns an error of usage if an output has another ending than its flag takes.
func (a *App) wrongEnding(outputs Named) error {
	for _, flag := range slices.Sorted(maps.Keys(outputs)) {
		endings := a.endings(strings.TrimLeft(flag, "-"))
		if err := WrongEnding(flag, outputs[flag], endings, ""); err != nil {
			return err
		}
	}
	return nil
}

// reads notes that the command is to read what arg names, where it is a file: before the work, so that no output takes
// its place.
func (g *guard) reads(a *App, arg string) error {
	if IsStdin(arg) {
		if f, ok := a.stdin.(*os.File); ok {
			if info, err := f.Stat(); err == nil {
				return g.input(StdinName, info, true)
			}
		}
		return nil
	}
	info, err := os.Stat(arg)
	if err != nil || arg == "" {
		return nil // reading it says so, or it is a name of the catalog
	}
	return g.input(arg, info, true)
}

// openInput opens a file that the user named, for reading.
func (a *App) openInput(name string) (*os.File, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = a.Guard.input(name, info, true)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// library reads a file that another imports; see files.ReadLibrary.
func (a *App) library(name string, within []string, limit int64) ([]byte, error) {
	text, err := files.ReadLibrary(name, within, limit)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	return text, a.Guard.input(name, info, false)
}
