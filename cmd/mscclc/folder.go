package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mscclc/ir/diag"
)

// A task is a file that a command is to look at, or what is wrong with the
// argument that should have named some.
type task struct {
	name string
	err  error
}

// expand finds the files that args name: of folders, those with one of the
// endings, in order. One argument's fault does not concern the others.
func expand(args []string, endings ...string) []task {
	var tasks []task
	stdin := false
	for _, arg := range args {
		info, err := os.Stat(arg)
		switch {
		case arg == "-" && stdin:
			tasks = append(tasks, task{arg, diag.List{diag.New(diag.Io, fileSpan(stdinName), "- stands twice, and stdin can be read once")}})
		case err == nil && info.IsDir():
			tasks = append(tasks, folder(arg, endings)...)
		default:
			tasks = append(tasks, task{name: arg}) // a file, or a name of the catalog
		}
		stdin = stdin || arg == "-"
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
			tasks = append(tasks, task{path, err})
			return fs.SkipDir
		case (d.Type().IsRegular() || d.Type()&fs.ModeSymlink != 0) && slices.Contains(endings, filepath.Ext(path)):
			tasks = append(tasks, task{name: path})
		}
		return nil
	})
	if len(tasks) == 0 {
		tasks = append(tasks, task{dir, diag.List{diag.New(diag.Io, fileSpan(dir), "folder %s has no file that ends in %s", dir, strings.Join(endings, ", "))}})
	}
	return tasks
}
