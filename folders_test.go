package mscclc_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mscclc"
	"mscclc/codegen"
	"mscclc/codegen/mscclpp"
	"mscclc/ir/diag"
	"mscclc/ir/verify"
	"mscclc/passes/channels"
)

// A tally is what the programs of a folder come to.
type tally struct {
	files  int
	proven int
	codes  map[diag.Code]int // of the first problem of each file that is not proven
	lines  []string          // those files, each with its first problem
}

// tallyOf reads and proves every program below folder: MSCCL-IR XML, and execution plans of MSCCL++. Other files do not
// count.
func tallyOf(folder string) (*tally, error) {
	t := &tally{codes: map[diag.Code]int{}}
	return t, filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !slices.Contains([]string{".xml", ".json"}, filepath.Ext(name)) {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		var found diag.List
		switch {
		case filepath.Ext(name) == ".xml" && bytes.Contains(text, []byte("<algo")) && !bytes.Contains(text, []byte("<msccl_algos")):
			p, err := mscclc.ReadProgram(codegen.KindXML, name, bytes.NewReader(text), codegen.ReadOptions{})
			if !errors.As(err, &found) {
				_, found = verify.Check(p, verify.Options{})
			}
		case codegen.Detect(text) == codegen.KindMSCCLPP:
			_, p, err := mscclpp.Read(name, bytes.NewReader(text), codegen.ReadOptions{})
			if !errors.As(err, &found) {
				_, _, found = channels.Check(p, verify.Options{})
			}
		default:
			return nil
		}
		t.files++
		found = slices.DeleteFunc(found, func(d diag.Diagnostic) bool { return d.Code.Warning() })
		if len(found) == 0 {
			t.proven++
			return nil
		}
		t.codes[found[0].Code]++
		short, _ := filepath.Rel(folder, name)
		t.lines = append(t.lines, fmt.Sprintf("%s: %s [%s]", short, found[0].Text, found[0].Code))
		return nil
	})
}

// TestFolders reads all programs in the folders that MSCCLC_FOLDERS names, separated as PATH is, and prints how many of
// each are proven, and why the others are not. docs/third-party.md says which folders there are.
func TestFolders(t *testing.T) {
	list := os.Getenv("MSCCLC_FOLDERS")
	if list == "" {
		t.Skip("MSCCLC_FOLDERS names no folders")
	}
	fmt.Println("| folder | programs | proven | rejected |\n|---|---|---|---|")
	var lines []string
	for _, folder := range filepath.SplitList(list) {
		of, err := tallyOf(folder)
		if err != nil {
			t.Fatal(err)
		}
		var why []string
		for _, code := range slices.Sorted(maps.Keys(of.codes)) {
			why = append(why, fmt.Sprintf("%d %s", of.codes[code], code))
		}
		fmt.Printf("| %s | %d | %d | %s |\n", filepath.Base(folder), of.files, of.proven, strings.Join(why, ", "))
		for _, line := range of.lines {
			lines = append(lines, filepath.Base(folder)+"/"+line)
		}
	}
	fmt.Println()
	for _, line := range lines {
		fmt.Println(line)
	}
}

// TestTally counts a good program, a wrong one, a plan, and files that are no programs.
func TestTally(t *testing.T) {
	dir := t.TempDir()
	const good = `<algo name="x" proto="Simple" nchannels="1" nchunksperloop="1" ngpus="1" coll="allgather" inplace="0">` +
		`<gpu id="0" i_chunks="1" o_chunks="1" s_chunks="0"><tb id="0" send="-1" recv="-1" chan="0">` +
		`<step s="0" type="cpy" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>` +
		`</tb></gpu></algo>`
	for name, text := range map[string]string{"good.xml": good, "a/wrong.xml": strings.Replace(good, `dstbuf="o"`, `dstbuf="i"`, 1),
		"list.xml": "<msccl_algos><algo/></msccl_algos>", "other.json": "{}", "note.txt": "<algo"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777),
			os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	of, err := tallyOf(dir)
	if err != nil || of.files != 2 || of.proven != 1 || of.codes[diag.WrongResult] != 1 ||
		len(of.lines) != 1 || !strings.HasPrefix(of.lines[0], "a/wrong.xml: output[0] of rank 0 must hold") {
		t.Errorf("%v, %+v", err, of)
	}
}
