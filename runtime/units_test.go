package runtime_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	library "mscclc/runtime"
)

// unitObjects compiles units of tests to a folder, several at once.
func unitObjects(to string, units []string, flags ...string) ([]string, error) {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return nil, err
	}
	objects, errs := make([]string, len(units)), make([]error, len(units))
	room := make(chan struct{}, runtime.NumCPU())
	var wait sync.WaitGroup
	for i, unit := range units {
		objects[i] = filepath.Join(to, filepath.Base(unit)+".o")
		wait.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			errs[i] = library.Link(objects[i], []string{unit}, append([]string{"-c"}, flags...)...)
		})
	}
	wait.Wait()
	return objects, errors.Join(errs...)
}
