package lang

import (
	"fmt"
	"path/filepath"
	"slices"

	"mscclc/lang/syntax"
)

// CheckLibrary judges a library as an algorithm that imports it would find it. opt.Open reads files.
func CheckLibrary(f *syntax.File, text []byte, opt Options) error {
	user := filepath.Join(filepath.Dir(f.Name), "verify.mscl")
	importing := fmt.Sprintf("algorithm verify()\ncollective custom(1, input = 1, output = 1) { }\nimport %q\n",
		filepath.Base(f.Name))
	tree, err := syntax.Parse(user, []byte(importing))
	if err != nil {
		return err
	}
	open := opt.Open
	opt.Params = nil
	opt.Open = func(path string) ([]byte, error) {
		if filepath.Clean(path) == filepath.Clean(f.Name) {
			return text, nil
		}
		return open(path)
	}
	_, err = Expand(tree, opt)
	return err
}

// IsLibrary reports whether f holds imports and functions only, and at least one. Any other file is judged as an
// algorithm.
func IsLibrary(f *syntax.File) bool {
	if len(f.Stmts) == 0 {
		return false
	}
	return !slices.ContainsFunc(f.Stmts, func(s syntax.Stmt) bool {
		switch s.(type) {
		case *syntax.Import, *syntax.Def:
			return false
		}
		return true
	})
}
