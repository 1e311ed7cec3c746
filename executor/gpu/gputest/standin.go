// Package gputest has the tests of devices that are GPUs, for each of which its
// package calls Run, and the stand-in driver that they run on where there is no GPU.
package gputest

import (
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

	"mscclc/executor"
)

// A Device is what is tested.
type Device struct {
	Name     string // as MSCCLC_REQUIRE has it
	Variable string // names another library for its driver
	Open     func(numbers ...int) executor.GPUs
}

// StandIn says whether the stand-in executes, which is slower by far than a GPU.
func (d Device) StandIn() bool { return os.Getenv(d.Variable) != "" }

// Main runs a package's tests: on the stand-in, unless MSCCLC_REQUIRE asks for the
// device. As a child it does what a test has started it for.
func Main(m *testing.M, d Device) {
	required := slices.Contains(strings.Split(os.Getenv("MSCCLC_REQUIRE"), ","), d.Name)
	if !required && !d.StandIn() {
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

// Build builds the stand-in, or finds it where it was built of the same sources.
func Build() (string, error) {
	_, here, _, _ := runtime.Caller(0)
	root := filepath.Join(filepath.Dir(here), "..", "..", "..")
	var sources []string
	for _, pattern := range []string{"executor/gpu/standin/*", "executor/cpu/fiber.h", "kernels/*.h"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return "", err
		}
		sources = append(sources, found...)
	}
	h := sha256.New()
	var units []string
	for _, path := range sources {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d\n%s", filepath.Base(path), len(text), text)
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
	built := fmt.Sprintf("%s.%d", library, os.Getpid())
	compiler := os.Getenv("CXX")
	if compiler == "" {
		compiler = "g++"
	}
	args := append([]string{"-O1", "-g", "-std=c++17", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror", "-o", built}, units...)
	if out, err := exec.Command(compiler, append(args, "-lpthread")...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the stand-in: %w\n%s", err, out)
	}
	return library, os.Rename(built, library)
}
