package files

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestUntrusted: the machine's configuration names owners and paths of bundles, if it is root's alone.
func TestUntrusted(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file to another user")
	}
	defer func(before string) { confFile = before }(confFile)
	dir := t.TempDir()
	file := filepath.Join(dir, "x.bundle")
	confFile = filepath.Join(dir, "mscclc.conf")
	for _, c := range []struct {
		name  string
		owner int
		mode  os.FileMode
		conf  string
		root  int // whose the configuration is
		open  os.FileMode
		want  string
	}{
		{"own", 0, 0o644, "", 0, 0o644, ""},
		{"writable", 0, 0o666, "", 0, 0o644, "other users may write to it"},
		{"of another", 993, 0o644, "", 0, 0o644, "it belongs to another user (993)"},
		{"of a named one", 993, 0o644, "# bundles of the fleet\nbundle-owner 993\n", 0, 0o644, ""},
		{"of a named one, writable", 993, 0o664, "bundle-owner 993\n", 0, 0o644, "other users may write to it"},
		{"of one beside it", 994, 0o644, "bundle-owner 993\nbundle-owner 9940\n", 0, 0o644, "it belongs to another user (994)"},
		{"a named path", 994, 0o644, "bundle " + file + "\n", 0, 0o644, ""},
		{"a path beside it", 994, 0o644, "bundle " + file + "2\n", 0, 0o644, "it belongs to another user"},
		{"a configuration of another", 993, 0o644, "bundle-owner 993\n", 993, 0o644, "does not count: it is not root's"},
		{"an open configuration", 993, 0o644, "bundle-owner 993\n", 0, 0o666, "does not count: other users may write to it"},
	} {
		for path, text := range map[string]string{file: "", confFile: c.conf} {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for path, of := range map[string]int{file: c.owner, confFile: c.root} {
			if err := os.Chown(path, of, of); err != nil {
				t.Fatal(err)
			}
		}
		os.Chmod(file, c.mode)
		os.Chmod(confFile, c.open)
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		got := Untrusted(f)
		f.Close()
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, not %q", c.name, got, c.want)
		}
	}
}
