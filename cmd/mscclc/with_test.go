package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mscclc/runtime"
)

// TestWith: the variables of mscclc with name files, and an old value of LD_PRELOAD stays.
func TestWith(t *testing.T) {
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip("there is no g++")
	}
	t.Chdir(t.TempDir())
	t.Setenv("LD_PRELOAD", "")
	t.Setenv("MSCCLC_LIBCUDA", "none")
	call := func(args ...string) (int, string, string) {
		var stdout, stderr bytes.Buffer
		code := main1(args, strings.NewReader(""), &stdout, &stderr)
		return code, stdout.String(), stderr.String()
	}
	if code, _, text := call("bundle", "--device", "H200", "--ranks", "2", "--dtype", "f32", "--candidates", "-o", "x.bundle"); code != 0 {
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
	if err := os.WriteFile("a.rules", []byte(`{"version": 1, "device": "H200", "rules": []}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args       []string
		code       int
		out, notes string
	}{
		{[]string{"--bundle", "a.rules", "--print"}, 1, "", "error: a.rules is a file of rules, and not a bundle [unsupported]\n" +
			"  hint: mscclc bundle --device \"H200\" --rules a.rules -o FILE.bundle makes a bundle of it\n"},
		{[]string{"--bundle", library, "--print"}, 1, "", "is not a bundle [malformed]"},
		{[]string{"--bundle", "x.bundle", "--nccl", library, "--print"}, 0, "libmscclc-preload.so'", "with 2 ranks; NCCL runs all others"},
		{[]string{"--bundle", "x.bundle", "--nccl", library, "--replace", "--lib", cached, "--print"}, 0, "MSCCLC_NCCL='" + library + "'", "hand on ncclOfTomorrow:"},
		{[]string{"--bundle", "x.bundle", "--nccl", library, "--replace", "--json"}, 0, `"nccl": "` + library + "\",\n  \"notes\"", ""},
		{[]string{"--bundle", "x.bundle", "--nccl", "none", "--print"}, 0, "nccl/libnccl.so.2'", "are errors"},
		{[]string{"--bundle", "x.bundle", "--nccl", os.Args[0], "--print"}, 3, "", "is not NCCL"},
		{[]string{"--bundle", "x.bundle", "--lib", ".", "--nccl", "none", "--print"}, 3, "", "error: there is no file "},
		{[]string{"--bundle", "x.bundle", "--lib", "/nope", "--nccl", "none", "--print"}, 3, "", "error: --lib: there is no folder /nope [unavailable]\n1 error\n"},
		{[]string{"--bundle", "/dev/zero", "--nccl", "none", "--print"}, 1, "", "this is a device, and not a file to read"},
		{[]string{"--bundle", "x.bundle", "--nccl", "none", "--", "nosuchcommand"}, 3, "", "nosuchcommand cannot be run"},
		{[]string{"--bundle", "x.bundle", "--lib", "a b", "--nccl", library, "--print"}, 3, "", "has a space or a colon"},
		{[]string{"--bundle", "open.bundle", "--nccl", library, "--print"}, 3, "", "other users may write to it"},
		{[]string{"--bundle", "x.bundle"}, 2, "", "needs a command"},
		{[]string{"--print"}, 3, "", "error: no bundle is known for this machine: NVIDIA's driver cannot be opened"},
	} {
		code, out, notes := call(append([]string{"with"}, c.args...)...)
		if code != c.code || !strings.Contains(out, c.out) || !strings.Contains(notes, c.notes) {
			t.Errorf("%q gives %d, not %d\n%s%s", c.args, code, c.code, out, notes)
		}
	}

	// A variable that is no number is reported, with what counts instead.
	t.Setenv("MSCCLC_CTAS", "x")
	t.Setenv("NCCL_MAX_CTAS", "-1")
	_, _, notes := call("with", "--bundle", "x.bundle", "--nccl", "none", "--print")
	for _, want := range []string{"note: MSCCLC_CTAS=x is not a number from 1 to 4096: launches have at most 32 CTAs\n",
		"note: NCCL_MAX_CTAS=-1 is not a number from 1 to 4096: it does not lower MSCCLC_CTAS\n"} {
		if strings.Count(notes, want) != 1 {
			t.Errorf("%q is not reported once:\n%s", want, notes)
		}
	}

	// The variables hold when the command is called again.
	for _, before := range []string{filepath.Join(cached, runtime.PreloadLibrary), "/old/mscclc/" + runtime.PreloadLibrary,
		filepath.Join(cached, runtime.NCCLLibrary)} {
		t.Setenv("LD_PRELOAD", before+" /x/other.so:"+before)
		code, out, notes := call("with", "--bundle", "x.bundle", "--nccl", library, "--print")
		want := "export LD_PRELOAD='" + filepath.Join(cached, runtime.PreloadLibrary) + ":/x/other.so'\n"
		if code != 0 || !strings.HasPrefix(out, want) {
			t.Errorf("after %s: %d\n%s%s", before, code, out, notes)
		}
	}
}

// TestWithForeignCache: a library in a cache that another user can write to is not preloaded.
func TestWithForeignCache(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a folder to another user")
	}
	t.Chdir(t.TempDir())
	cached, err := runtime.Cached()
	if err != nil {
		t.Fatal(err)
	}
	shared := t.TempDir()
	foreign := filepath.Join(shared, "mscclc", "runtime", filepath.Base(cached))
	if err := errors.Join(os.MkdirAll(filepath.Dir(foreign), 0o755), os.CopyFS(foreign, os.DirFS(cached)),
		os.Chown(filepath.Join(shared, "mscclc"), 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	call := func(args ...string) int {
		stdout.Reset()
		stderr.Reset()
		return main1(args, strings.NewReader(""), &stdout, &stderr)
	}
	if code := call("bundle", "--device", "H200", "--ranks", "2", "--dtype", "f32", "--candidates", "-o", "x.bundle"); code != 0 {
		t.Fatal(&stderr)
	}
	t.Setenv("XDG_CACHE_HOME", shared)
	if code := call("with", "--bundle", "x.bundle", "--nccl", "none", "--print"); code != 0 || strings.Contains(stdout.String(), shared) {
		t.Errorf("%d\n%s%s", code, &stdout, &stderr)
	}
	if code := call("with", "--bundle", "x.bundle", "--nccl", "none", "--lib", foreign, "--print"); code == 0 ||
		!strings.Contains(stderr.String(), "mscclc belongs to another user (65534)") {
		t.Errorf("--lib: %d\n%s", code, &stderr)
	}
}

// TestWithInterrupted: a signal while the library is built leaves no folder.
func TestWithInterrupted(t *testing.T) {
	t.Chdir(t.TempDir())
	if out, err := exec.Command("mscclc", "bundle", "--device", "H200", "--ranks", "2", "--dtype", "f32", "--candidates",
		"-o", "x.bundle").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cache, begun := t.TempDir(), filepath.Join(t.TempDir(), "begun")
	if err := os.WriteFile("slow", []byte("#!/bin/sh\n[ $1 != -E ] || exit 0\n: >"+begun+"\nexec sleep 60\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	slow, err := filepath.Abs("slow")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("mscclc", "with", "--bundle", "x.bundle", "--nccl", "none", "--print")
	cmd.Env = append(os.Environ(), "CXX="+slow, "XDG_CACHE_HOME="+cache)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	for {
		if _, err := os.Stat(begun); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	syscall.Kill(-cmd.Process.Pid, syscall.SIGINT)
	cmd.Wait()
	if left, err := filepath.Glob(filepath.Join(cache, "mscclc", "runtime", "build*")); err != nil || len(left) > 0 {
		t.Errorf("%q are left: %v", left, err)
	}
}
