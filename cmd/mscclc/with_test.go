package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mscclc/runtime"
)

// TestWith: the variables of mscclc with name files, and an old value of LD_PRELOAD stays.
func TestWith(t *testing.T) {
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip("there is no g++")
	}
	t.Chdir(t.TempDir())
	t.Setenv("LD_PRELOAD", "")
	call := func(args ...string) (int, string, string) {
		var stdout, stderr bytes.Buffer
		code := main1(args, strings.NewReader(""), &stdout, &stderr)
		return code, stdout.String(), stderr.String()
	}
	if code, _, text := call("bundle", "--device", "H200", "--ranks", "2", "--dtype", "f32", "--unmeasured", "-o", "x.bundle"); code != 0 {
		t.Fatal(text)
	}
	library := filepath.Join(t.TempDir(), "libnccl.so.2")
	cc := exec.Command("g++", "-shared", "-fPIC", "-xc", "-", "-o", library)
	cc.Stdin = strings.NewReader("int ncclCommInitRank() { return 0; } int ncclOfTomorrow() { return 0; }")
	if out, err := cc.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cached, err := runtime.Cached()
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := os.ReadFile("x.bundle")
	if err := errors.Join(err, os.WriteFile("open.bundle", bundle, 0o644), os.Chmod("open.bundle", 0o666),
		os.Symlink(cached, "a b")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args       []string
		code       int
		out, notes string
	}{
		{[]string{"--bundle", "x.bundle", "--nccl", library, "--print"}, 0, "libmscclc-preload.so'", "with 2 ranks; NCCL runs all others"},
		{[]string{"--bundle", "x.bundle", "--nccl", library, "--replace", "--print"}, 0, "MSCCLC_NCCL='" + library + "'", "hand on ncclOfTomorrow:"},
		{[]string{"--bundle", "x.bundle", "--nccl", "none", "--print"}, 0, "nccl/libnccl.so.2'", "are errors"},
		{[]string{"--bundle", "x.bundle", "--nccl", os.Args[0], "--print"}, 3, "", "is not NCCL"},
		{[]string{"--bundle", "x.bundle", "--lib", ".", "--nccl", "none", "--print"}, 3, "", "the library is damaged, or not there"},
		{[]string{"--bundle", "x.bundle", "--nccl", "none", "--", "nosuchcommand"}, 3, "", "nosuchcommand cannot be run"},
		{[]string{"--bundle", "x.bundle", "--lib", "a b", "--nccl", library, "--print"}, 3, "", "has a space or a colon"},
		{[]string{"--bundle", "open.bundle", "--nccl", library, "--print"}, 3, "", "other users may write to it"},
		{[]string{"--bundle", "x.bundle"}, 2, "", "needs a command"},
		{[]string{"--print"}, 2, "", "--bundle is needed"},
	} {
		code, out, notes := call(append([]string{"with"}, c.args...)...)
		if code != c.code || !strings.Contains(out, c.out) || !strings.Contains(notes, c.notes) {
			t.Errorf("%q gives %d, not %d\n%s%s", c.args, code, c.code, out, notes)
		}
	}
}
