package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mscclc"
	"mscclc/codegen"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/verify"
	"mscclc/lang"
)

func (a *app) verifyCommand() *cobra.Command {
	var c compiling
	cmd := &cobra.Command{
		Use:   "verify FILE|FOLDER...",
		Short: "Check that programs are right",
		Long: `Check programs, whoever made them: their form, bounds, the matching of sends and receives, that no steps wait for each
other for ever, and by evaluation that the result is the collective's. A .mscl file is compiled first, with the
defaults of its parameters unless -p sets them. Of a folder, all .mscl, .xml, .plan and .json files below it are checked.

One line each: ok or FAIL. The exit code is 1 if any is rejected.`,
		Example: `  mscclc verify ring.xml
  mscclc verify algorithms/
  mscclc verify allreduce/ring -p ranks=5 --target rccl`,
		Args: atLeast(1, "files or folders to verify"),
		RunE: func(_ *cobra.Command, args []string) error { return a.verify(args, &c) },
	}
	c.flags(cmd.Flags(), "plan")
	c.complete(cmd)
	return cmd
}

func (a *app) verify(args []string, c *compiling) error {
	files, err := expand(args, ".mscl", ".xml", ".plan", ".json")
	if err != nil {
		return err
	}
	reports := []report{}
	rejected := 0
	bar := a.progress(len(files), "verify")
	for _, file := range files {
		p, err := a.check(file, c)
		bar.clear()
		var usage usageError
		var machine machineError
		if errors.As(err, &usage) || errors.As(err, &machine) {
			return err
		}
		var list diag.List
		if err != nil {
			list = placed(problems(err), file)
			rejected++
		}
		if a.json {
			reports = append(reports, newReport(file, list, p))
		} else {
			a.verdict(file, p, list)
		}
		if exitCode(err, list) == exitInternal {
			return err
		}
		bar.step()
	}
	bar.clear()
	switch {
	case a.json:
		if err := a.writeJSON(reports); err != nil {
			return err
		}
	case len(files) > 1:
		fmt.Fprintf(a.stdout, "%s: %d ok, %d rejected\n", count(len(files), "file"), len(files)-rejected, rejected)
	}
	if rejected > 0 {
		return errReported
	}
	return nil
}

func (a *app) verdict(file string, p *ir.Program, list diag.List) {
	switch {
	case len(list) > 0:
		fmt.Fprintf(a.stdout, "FAIL  %s    %s\n", diag.Printable(file), count(len(list), "problem"))
		a.show(list)
	case p == nil:
		fmt.Fprintf(a.stdout, "ok    %s    library\n", file)
	default:
		fmt.Fprintf(a.stdout, "ok    %s    %s\n", file, summary(p))
	}
}

// expand finds the files that args name: of folders, those with one of the
// endings, in order.
func expand(args []string, endings ...string) ([]string, error) {
	var files []string
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil || !info.IsDir() {
			files = append(files, arg) // a file, or a name of the catalog
			continue
		}
		before := len(files)
		err = filepath.WalkDir(arg, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if !d.IsDir() && slices.Contains(endings, filepath.Ext(path)) {
				files = append(files, path)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if len(files) == before {
			return nil, diag.List{diag.New(diag.Io, fileSpan(arg), "folder %s has no file that ends in %s", arg, strings.Join(endings, ", "))}
		}
	}
	return files, nil
}

// check reads, or compiles, what arg names, and checks it. A library gives no
// program.
func (a *app) check(arg string, c *compiling) (*ir.Program, error) {
	s, err := a.open(arg)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if s.kind == codegen.KindSource {
		return a.checkSource(s, c)
	}
	p, check, err := readProgram(s, c)
	if err != nil {
		return nil, err
	}
	_, found := verify.Check(p, check)
	return p, found.Err()
}

func (a *app) checkSource(s *source, c *compiling) (*ir.Program, error) {
	text, err := s.readSource()
	if err != nil {
		return nil, err
	}
	opt, err := c.options(s)
	if err != nil {
		return nil, err
	}
	f, err := lang.ParseLimited(s.name, text, opt.Lang.Limits)
	if err != nil {
		return nil, err
	}
	if isLibrary(f) {
		return nil, checkLibrary(f, text, opt)
	}
	p, err := mscclc.Compile(s.name, text, opt)
	if err != nil {
		return nil, err
	}
	return p, codegen.Fits(p, opt.Target).Err()
}

// checkLibrary judges a library as an algorithm that imports it would find it.
func checkLibrary(f *lang.File, text []byte, opt mscclc.Options) error {
	if len(f.Stmts) == 0 {
		return diag.List{diag.New(diag.Declaration, fileSpan(f.Name), "the file has neither an algorithm nor functions").
			WithHint("a file begins with: algorithm NAME(ranks = 8)")}
	}
	user := filepath.Join(filepath.Dir(f.Name), "verify.mscl")
	importing := fmt.Sprintf("algorithm verify()\ncollective custom(1, input = 1, output = 1) { }\nimport %q\n", filepath.Base(f.Name))
	tree, err := lang.Parse(user, []byte(importing))
	if err != nil {
		return err
	}
	open := opt.Lang.Open
	opt.Lang.Params = nil
	opt.Lang.Open = func(path string) ([]byte, error) {
		if filepath.Clean(path) == filepath.Clean(f.Name) {
			return text, nil
		}
		return open(path)
	}
	_, err = lang.Expand(tree, opt.Lang)
	return err
}

// isLibrary says whether f declares no algorithm.
func isLibrary(f *lang.File) bool {
	return !slices.ContainsFunc(f.Stmts, func(s lang.Stmt) bool {
		_, ok := s.(*lang.Algorithm)
		return ok
	})
}

// readProgram reads the program in s, and says how to check it.
func readProgram(s *source, c *compiling) (*ir.Program, verify.Options, error) {
	opt, check, err := c.limits.reading()
	if err != nil {
		return nil, check, err
	}
	var p *ir.Program
	switch s.kind {
	case codegen.KindPlan:
		p, err = codegen.ReadPlan(s.name, s, opt)
	case codegen.KindPlanJSON:
		p, err = codegen.ReadPlanJSON(s.name, s, opt)
	default:
		p, err = codegen.ReadMSCCL(s.name, s, opt)
	}
	return p, check, err
}
