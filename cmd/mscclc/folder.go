package main

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mscclc/codegen"
	"mscclc/ir/diag"
)

// A task is a file that a command is to look at, or what is wrong with the
// argument that should have named some.
type task struct {
	name  string
	err   error
	found bool // in a folder, and not named itself
}

// plansOnly leaves out files of folders that hold no program, as other .json files and msccl's list of its programs, and says so.
func (a *app) plansOnly(tasks []task) []task {
	var plans []task
	var others []string
	for _, t := range tasks {
		if t.found && !mayHoldProgram(t.name) {
			others = append(others, t.name)
		} else {
			plans = append(plans, t)
		}
	}
	if len(others) > 0 && !a.json {
		a.say("note: %s that holds no program is left out: %s", count(len(others), "file"), diag.Printable(list(others[:min(len(others), 3)])))
	}
	return plans
}

// mayHoldProgram says whether a file begins as programs of its kind do, or cannot be read, which is told elsewhere.
func mayHoldProgram(name string) bool {
	ending := filepath.Ext(name)
	if ending != ".json" && ending != ".xml" {
		return true
	}
	f, err := os.Open(name)
	if err != nil {
		return true
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, 512))
	if ending == ".xml" {
		return err != nil || !bytes.Contains(head, []byte("<msccl_algos"))
	}
	kind := codegen.Detect(head)
	return err != nil || kind == codegen.KindMSCCLPP || kind == codegen.KindPlanJSON
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
			tasks = append(tasks, task{name: arg, err: diag.List{diag.New(diag.Io, fileSpan(stdinName), "- stands twice, and stdin can be read once")}})
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
			tasks = append(tasks, task{name: path, err: err})
			return fs.SkipDir
		case (d.Type().IsRegular() || d.Type()&fs.ModeSymlink != 0) && slices.Contains(endings, filepath.Ext(path)):
			tasks = append(tasks, task{name: path, found: true})
		}
		return nil
	})
	if len(tasks) == 0 {
		tasks = append(tasks, task{name: dir, err: diag.List{diag.New(diag.Io, fileSpan(dir), "folder %s has no file that ends in %s", dir, strings.Join(endings, ", "))}})
	}
	return tasks
}
