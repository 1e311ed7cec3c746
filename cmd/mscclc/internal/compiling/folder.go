package compiling

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/codegen"
	"mscclc/codegen/msccl"
	"mscclc/files"
	"mscclc/ir/diag"
)

// mostNeighbours bounds the files that noteFolder reads, and largestNeighbour their bytes.
const (
	mostNeighbours   = 1000
	largestNeighbour = 64 << 20
)

// noteFolder says which files beside the program at path its runtime cannot read, of one that reads all files of a
// folder: RCCL, whose job would not start.
func noteFolder(a *cli.App, path string, t *codegen.Target) {
	if !strings.Contains(t.Use, "{folder}") {
		return
	}
	folder := filepath.Dir(path)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	var bad []string
	for _, at := range entries[:min(len(entries), mostNeighbours)] {
		if kind := at.Type(); at.Name() == filepath.Base(path) || !kind.IsRegular() && kind&fs.ModeSymlink == 0 {
			continue
		}
		name := filepath.Join(folder, at.Name())
		if info, err := os.Stat(name); err != nil || info.IsDir() || info.Size() > largestNeighbour || !readBy(t, name) {
			bad = append(bad, diag.Printable(at.Name()))
		}
	}
	if len(bad) == 0 {
		return
	}
	text := strings.Join(bad[:min(len(bad), 3)], ", ")
	if len(bad) > 3 {
		text += ", ..."
	}
	a.Note(folder, "%s reads every file of this folder, and a job does not start where it cannot: %s would stop it (%s). "+
		"Write the program into a folder of its own", t.Name, diag.Counted(len(bad), "such file"), text)
}

// readBy reports whether the file called name is XML that t reads.
func readBy(t *codegen.Target, name string) bool {
	f, err := files.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	opt := codegen.ReadOptions{Target: t, MaxFile: largestNeighbour}
	_, err = msccl.Read(name, codegen.LimitFile(name, f, opt), opt)
	return err == nil
}
