package main

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
)

// A task is a file that a command is to look at, or what is wrong with the
// argument that should have named some.
type task struct {
	name  string
	err   error
	found bool // in a folder, and not named itself
	odd   bool // neither a regular file nor a link, and found
}

// programsOnly leaves out files of folders that hold no program, such as msccl's list of its programs, those that are
// not for target, which may be nil, and those that are compiled already where flag is one that only a compilation
// follows. A note counts each. A folder of nothing else is an error.
func (a *App) programsOnly(tasks []task, target *codegen.Target, flag string) []task {
	var programs []task
	var others, foreign, fixed []string
	for _, t := range a.regular(tasks) {
		kind, program := contentOf(t)
		switch {
		case !program:
			others = append(others, t.name)
		case t.found && target != nil && !target.Takes(kind):
			foreign = append(foreign, t.name)
		case t.found && flag != "" && kind != codegen.KindSource && kind != codegen.KindUnknown:
			fixed = append(fixed, t.name)
		default:
			programs = append(programs, t)
		}
	}
	a.noteSkipped(others, "a program", "programs")
	if len(foreign) > 0 {
		a.noteSkipped(foreign, "a program for --target "+target.Name, "programs for --target "+target.Name)
	}
	a.noteSkipped(fixed, "an algorithm, which "+flag+" is for", "algorithms, which "+flag+" is for")
	if len(programs) == 0 && len(tasks) > 0 {
		name := filepath.Dir(tasks[0].name)
		err := diag.List{diag.New(diag.Io, fileSpan(name), "all files found here were skipped")}
		programs = append(programs, task{name: name, err: err})
	}
	return programs
}

// regular leaves out what was found in folders and is a pipe, a socket or a device, and notes it.
func (a *App) regular(tasks []task) []task {
	var odd []string
	tasks = slices.DeleteFunc(tasks, func(t task) bool {
		if t.odd {
			odd = append(odd, t.name)
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
	a.note("", "skipped %s: %s%s", what, diag.Printable(list(first)), more)
}

// contentOf says what a file of a folder holds, by how it begins, and whether that may be a program. A file that is
// named or that cannot be read may be: what is wrong with it is told where it is read.
func contentOf(t task) (kind codegen.FileKind, program bool) {
	if !t.found || t.err != nil {
		return codegen.KindUnknown, true
	}
	f, err := files.Open(t.name)
	if err != nil {
		return codegen.KindSource, true
	}
	defer f.Close()
	head, err := codegen.Head(codegen.NewHead(f))
	if err != nil {
		return codegen.KindSource, true
	}
	kind = codegen.Detect(head)
	switch filepath.Ext(t.name) {
	case ".xml":
		return kind, !bytes.Contains(head, []byte("<msccl_algos"))
	case ".json":
		return kind, kind == codegen.KindMSCCLPP || kind == codegen.KindProgramJSON
	}
	return kind, true
}

// expand finds the files that args name: of folders, those with one of the
// endings, in order. One argument's fault does not concern the others.
func expand(args []string, endings ...string) []task {
	var tasks []task
	stdin := false
	for _, arg := range args {
		info, err := os.Stat(arg)
		switch {
		case isStdin(arg) && stdin:
			tasks = append(tasks,
				task{name: stdinName, err: diag.List{diag.New(diag.Io, fileSpan(stdinName),
					"stdin can be read once, and %s is the second argument for it", arg)}})
		case err == nil && info.IsDir():
			tasks = append(tasks, folder(arg, endings)...)
		default:
			tasks = append(tasks, task{name: inputName(arg)}) // a file, or a name of the catalog
		}
		stdin = stdin || isStdin(arg)
	}
	return tasks
}

// folder finds the files below dir. A part of it that cannot be read is a task
// that says so.
func folder(dir string, endings []string) []task {
	var tasks []task
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			tasks = append(tasks, task{name: path, err: err})
			return fs.SkipDir
		case !d.IsDir() && slices.Contains(endings, filepath.Ext(path)):
			odd := !d.Type().IsRegular() && d.Type()&fs.ModeSymlink == 0
			tasks = append(tasks, task{name: path, found: true, odd: odd})
		}
		return nil
	})
	if len(tasks) == 0 {
		tasks = append(tasks,
			task{name: dir, err: diag.List{diag.New(diag.Io, fileSpan(dir), "folder %s has no file that ends in %s", dir,
				strings.Join(endings, ", "))}})
	}
	return tasks
}
