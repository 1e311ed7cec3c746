package cli

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mscclc/codegen"
	"mscclc/files"
	"mscclc/ir/diag"
	"mscclc/topology/nccl"
)

// A Task is a file that a command is to look at, or what is wrong with the
// argument that should have named some.
type Task struct {
	Name  string
	Err   error
	Found bool // in a folder, and not named itself
	odd   bool // neither a regular file nor a link, and found
}

// ProgramsOnly leaves out files of folders that hold no program, such as msccl's list of its programs, those that are
// not for target, which may be nil, and those that are compiled already where flag is one that only a compilation
// follows. A note counts each. A folder of nothing else is an error.
func (a *App) ProgramsOnly(tasks []Task, target *codegen.Target, flag string) []Task {
	var programs []Task
	var others, machines, foreign, fixed []string
	for _, t := range a.Regular(tasks) {
		kind, program, machine := contentOf(t)
		switch {
		case machine:
			machines = append(machines, t.Name)
		case !program:
			others = append(others, t.Name)
		case t.Found && target != nil && !target.Takes(kind):
			foreign = append(foreign, t.Name)
		case t.Found && flag != "" && kind != codegen.KindSource && kind != codegen.KindUnknown:
			fixed = append(fixed, t.Name)
		default:
			programs = append(programs, t)
		}
	}
	a.noteSkipped(others, "a program", "programs")
	a.noteMachines(machines)
	if len(foreign) > 0 {
		a.noteSkipped(foreign, "a program for --target "+target.Name, "programs for --target "+target.Name)
	}
	a.noteSkipped(fixed, "an algorithm, which "+flag+" is for", "algorithms, which "+flag+" is for")
	if len(programs) == 0 && len(tasks) > 0 {
		name := filepath.Dir(tasks[0].Name)
		err := diag.List{diag.New(diag.Io, FileSpan(name), "all files found here were skipped")}
		programs = append(programs, Task{Name: name, Err: err})
	}
	return programs
}

// Regular leaves out what was found in folders and is a pipe, a socket or a device, and notes it.
func (a *App) Regular(tasks []Task) []Task {
	var odd []string
	tasks = slices.DeleteFunc(tasks, func(t Task) bool {
		if t.odd {
			odd = append(odd, t.Name)
		}
		return t.odd
	})
	a.noteSkipped(odd, "a regular file", "regular files")
	return tasks
}

// noteSkipped counts files that were skipped as they are not one, or several, of something, and names the first of
// them.
func (a *App) noteSkipped(names []string, one, several string) {
	if len(names) == 0 {
		return
	}
	what, more := "1 file that is not "+one, ""
	if len(names) > 1 {
		what = fmt.Sprintf("%d files that are not %s", len(names), several)
	}
	first := names[:min(len(names), 3)]
	if n := len(names) - len(first); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	a.Note("", "skipped %s: %s%s", what, diag.Printable(List(first)), more)
}

// noteMachines notes the topologies of NCCL's that were skipped.
func (a *App) noteMachines(names []string) {
	if len(names) == 0 {
		return
	}
	what, more := "1 file that is a topology of NCCL", ""
	if len(names) > 1 {
		what = fmt.Sprintf("%d files that are topologies of NCCL", len(names))
	}
	first := names[:min(len(names), 3)]
	if n := len(names) - len(first); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	a.Note("", "skipped %s, which mscclc topo and --topology read: %s%s", what, diag.Printable(List(first)), more)
}

// contentOf says what a file of a folder holds, by how it begins, and whether that may be a program, or is a topology
// of NCCL. A file that is named or that cannot be read may be a program: what is wrong with it is said where it is
// read.
func contentOf(t Task) (kind codegen.FileKind, program, machine bool) {
	if !t.Found || t.Err != nil {
		return codegen.KindUnknown, true, false
	}
	f, err := files.Open(t.Name)
	if err != nil {
		return codegen.KindSource, true, false
	}
	defer f.Close()
	head, err := codegen.Head(codegen.NewHead(f))
	if err != nil {
		return codegen.KindSource, true, false
	}
	kind = codegen.Detect(head)
	if kind == codegen.KindXML && nccl.IsDump(head) {
		return kind, false, true
	}
	switch filepath.Ext(t.Name) {
	case ".xml":
		return kind, !bytes.Contains(head, []byte("<msccl_algos")), false
	case ".json":
		return kind, kind == codegen.KindMSCCLPP || kind == codegen.KindProgramJSON, false
	}
	return kind, true, false
}

// Expand finds the files that args name: of folders, those with one of the
// endings, in order. One argument's fault does not concern the others.
func Expand(args []string, endings ...string) []Task {
	var tasks []Task
	stdin := false
	for _, arg := range args {
		info, err := os.Stat(arg)
		switch {
		case IsStdin(arg) && stdin:
			tasks = append(tasks,
				Task{Name: StdinName, Err: diag.List{diag.New(diag.Io, FileSpan(StdinName),
					"stdin can be read once, and %s is the second argument for it", arg)}})
		case err == nil && info.IsDir():
			tasks = append(tasks, folder(arg, endings)...)
		default:
			tasks = append(tasks, Task{Name: inputName(arg)}) // a file, or a name of the catalog
		}
		stdin = stdin || IsStdin(arg)
	}
	return tasks
}

// folder finds the files below dir. A part of it that cannot be read is a task
// that says so.
func folder(dir string, endings []string) []Task {
	var tasks []Task
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			tasks = append(tasks, Task{Name: path, Err: err})
			return fs.SkipDir
		case !d.IsDir() && slices.Contains(endings, Ending(path)):
			odd := !d.Type().IsRegular() && d.Type()&fs.ModeSymlink == 0
			tasks = append(tasks, Task{Name: path, Found: true, odd: odd})
		}
		return nil
	})
	if len(tasks) == 0 {
		tasks = append(tasks,
			Task{Name: dir, Err: diag.List{diag.New(diag.Io, FileSpan(dir), "folder %s has no file that ends in %s", dir,
				strings.Join(endings, ", "))}})
	}
	return tasks
}
