// Package gputest has the tests of GPU devices. The tests of executor/cuda and of executor/hip call [Run]. For machines
// without a GPU, package gputest builds a mock driver ([Build]), which executes kernels on the host.
package gputest

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"mscclc/executor"
	"mscclc/internal/covering"
)

// A Device is what is tested.
type Device struct {
	Name     string // as MSCCLC_REQUIRE has it
	Variable string // names another library for its driver
	Open     func(numbers ...int) executor.GPUs

	pool *pool // memory that its tests no longer use
}

// NewDevice returns a device with these fields.
func NewDevice(name, variable string, open func(numbers ...int) executor.GPUs) Device {
	return Device{name, variable, open, &pool{unused: map[place][]uint64{}, of: map[place]place{}}}
}

// memory returns what makes the buffers of calls.
func (d Device) memory() allocator {
	if d.StandIn() {
		return plain{}
	}
	return d.pool
}

// StandIn reports whether the mock driver executes, which is slower by far than a GPU.
func (d Device) StandIn() bool { return os.Getenv(d.Variable) != "" }

// takes reports whether the n-th of many programs, types or replays is run.
func (d Device) takes(n int) bool { return covering.Takes(n, d.period()) }

// period returns how many programs, types or replays there are for one that is run. On the mock driver hip runs the
// same sources as cuda, and what differs, the driver's table of functions, all of them use. The host's kernel has tests
// of its own.
func (d Device) period() int {
	period := 1
	if d.StandIn() && !covering.CI() {
		period = 4
	}
	if d.StandIn() && (d.Name == "hip" || d.hosted()) {
		period *= 4
	}
	return period
}

// Required reports whether MSCCLC_REQUIRE, a list, asks for a device by name.
func Required(name string) bool {
	return slices.Contains(strings.Split(os.Getenv("MSCCLC_REQUIRE"), ","), name)
}

// Main runs a package's tests: on the mock driver, unless MSCCLC_REQUIRE asks for the
// device. As a child it does what a test has started it for.
func Main(m *testing.M, d Device) {
	if !Required(d.Name) && !d.StandIn() {
		library, err := Build()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Setenv(d.Variable, library)
	}
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(child(d, role))
	}
	os.Exit(m.Run())
}

// Build builds the mock driver, or finds it where it was built of the same sources. Of several processes, one builds,
// and the others wait for it: go test runs several packages that need it at once, and the build takes longer than most
// of their tests.
func Build() (string, error) {
	_, here, _, _ := runtime.Caller(0)
	root := filepath.Join(filepath.Dir(here), "..", "..", "..")
	var sources []string
	for _, pattern := range []string{"executor/gpu/standin/*", "executor/fibers/fiber.h", "kernels/*/*.h"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return "", err
		}
		sources = append(sources, found...)
	}
	h := sha256.New()
	fmt.Fprintln(h, flags)
	var units []string
	for _, path := range sources {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d\n%s", strings.TrimPrefix(path, root), len(text), text)
		if strings.HasSuffix(path, ".cc") {
			units = append(units, path)
		}
	}
	if len(units) == 0 {
		return "", errors.New("the stand-in has no sources beside " + here)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	library := filepath.Join(cache, "mscclc", "standin", fmt.Sprintf("%x.so", h.Sum(nil)[:12]))
	if _, err := os.Stat(library); err == nil {
		return library, nil
	}
	if err := os.MkdirAll(filepath.Dir(library), 0o700); err != nil {
		return "", err
	}
	unlock, err := lock(filepath.Join(filepath.Dir(library), "lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(library); err == nil {
		return library, nil // another process built it
	}
	built, err := os.MkdirTemp(filepath.Dir(library), "build")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(built)
	if err := compile(built, units); err != nil {
		return "", fmt.Errorf("building the stand-in: %w", err)
	}
	return library, os.Rename(filepath.Join(built, "library"), library)
}

// compile makes a library of some sources in a folder, as many at once as there are processors.
func compile(dir string, units []string) error {
	compiler := cmp.Or(os.Getenv("CXX"), "g++")
	run := func(args ...string) error {
		if out, err := exec.Command(compiler, args...).CombinedOutput(); err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		return nil
	}
	objects := make([]string, len(units))
	var g errgroup.Group
	g.SetLimit(runtime.NumCPU())
	for i, unit := range units {
		objects[i] = filepath.Join(dir, fmt.Sprintf("%d.o", i))
		g.Go(func() error { return run(append(strings.Fields(flags), "-c", unit, "-o", objects[i])...) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return run(append(append([]string{"-shared", "-o", filepath.Join(dir, "library")}, objects...), "-lpthread")...)
}

// flags are the compiler's; it ignores hints about loops, which are for compilers of GPUs. Functions that these always
// inline are inlined where they are small: to inline all takes the compiler three times the time, for a driver that is
// not faster. Debug information would take a third of its time.
const flags = "-Og -Dalways_inline= -finline-small-functions -ftls-model=initial-exec -std=c++17 -fPIC -Wall -Wextra " +
	"-Werror -Wno-unknown-pragmas"
