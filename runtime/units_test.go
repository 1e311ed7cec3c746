package runtime_test

import (
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sync/errgroup"

	library "mscclc/runtime"
)

// unitObjects compiles units of tests to a folder, several at once.
func unitObjects(to string, units []string, flags ...string) ([]string, error) {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return nil, err
	}
	objects := make([]string, len(units))
	var g errgroup.Group
	g.SetLimit(runtime.NumCPU())
	for i, unit := range units {
		objects[i] = filepath.Join(to, filepath.Base(unit)+".o")
		g.Go(func() error { return library.Link(objects[i], []string{unit}, append([]string{"-c"}, flags...)...) })
	}
	return objects, g.Wait()
}
