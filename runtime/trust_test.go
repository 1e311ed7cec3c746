package runtime_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	library "mscclc/runtime"
)

// TestTrust: the library takes bundles of the user, of root, and of whom the machine's configuration names, as package
// files does. The program is built with another file for the configuration.
func TestTrust(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file to another user")
	}
	dir, tree := t.TempDir(), t.TempDir()
	if err := library.Write(tree); err != nil {
		t.Fatal(err)
	}
	conf, program := filepath.Join(dir, "mscclc.conf"), filepath.Join(dir, "trust")
	src := filepath.Join(tree, "runtime", "src")
	sources := []string{"testdata/trust.cc", filepath.Join(src, "bundle", "trust.cc"), filepath.Join(src, "why.cc"),
		filepath.Join(tree, "transport", "system.cc")}
	if err := library.Link(program, sources,
		"-std=c++17", "-Wall", "-Wextra", "-Werror", fmt.Sprintf("-DMSCCLC_CONF=%q", conf)); err != nil {
		t.Fatal(err)
	}
	files := map[string]struct {
		owner int
		mode  os.FileMode
	}{"own": {0, 0o644}, "open": {0, 0o666}, "named": {993, 0o644}, "namedopen": {993, 0o664}, "beside": {994, 0o644}, "path": {995, 0o644}}
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, f := range files {
		if err := os.WriteFile(at(name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		os.Chown(at(name), f.owner, f.owner)
		os.Chmod(at(name), f.mode)
	}
	text := "# bundles of the fleet\n\nbundle-owner 993\nbundle-owner 9940\nbundle " + at("path") + "\nbundle-owner 994 x"
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	check := func(wants map[string]string) {
		t.Helper()
		for name, want := range wants {
			out, err := exec.Command(program, at(name)).CombinedOutput()
			if err != nil || !strings.Contains(string(out), want) {
				t.Errorf("%s: %v %s, not %q", name, err, out, want)
			}
		}
	}
	const other = "belongs to another user"
	check(map[string]string{"own": "trusted", "open": "other users may write to it", "named": "trusted",
		"namedopen": "other users may write to it", "beside": other, "path": "trusted", "": "it is no regular file"})
	os.Chmod(conf, 0o666)
	check(map[string]string{"own": "trusted", "named": "does not count: other users may write to it"})
	os.Chmod(conf, 0o644)
	os.Chown(conf, 993, 993)
	check(map[string]string{"named": "does not count: it is not root's"})
	os.Remove(conf)
	check(map[string]string{"own": "trusted", "named": other})
}
