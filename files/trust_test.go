//go:build unix

package files

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTrusted: a file is trusted if nobody else can write or replace it.
func TestTrusted(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a", "b", "lib.so")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Dir(file), link); err != nil {
		t.Fatal(err)
	}
	above := filepath.Join(dir, "a")
	for _, c := range []struct {
		name, path, change string
		mode               os.FileMode
		want               string
	}{
		{"as made", file, file, 0o644, ""},
		{"by a link", filepath.Join(link, "lib.so"), file, 0o644, ""},
		{"writable", file, file, 0o666, "other users may write to " + file},
		{"of a group", file, file, 0o664, "other users may write to " + file},
		{"a folder above", file, above, 0o777, "other users may write to " + above},
		{"behind a link", filepath.Join(link, "lib.so"), above, 0o777, "other users may write to " + above},
		{"a sticky folder above", file, above, 0o777 | os.ModeSticky, ""},
	} {
		if err := os.Chmod(c.change, c.mode); err != nil {
			t.Fatal(err)
		}
		err := Trusted(c.path)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, not %q", c.name, err, c.want)
		}
		if err := os.Chmod(c.change, map[string]os.FileMode{file: 0o644, above: 0o755}[c.change]); err != nil {
			t.Fatal(err)
		}
	}
	if Trusted(filepath.Join(dir, "none")) == nil {
		t.Error("a file that does not exist is trusted")
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file to another user")
	}
	if err := os.Chown(above, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	if err := Trusted(file); err == nil || !strings.Contains(err.Error(), above+" belongs to another user (65534)") {
		t.Errorf("of another user: %v", err)
	}
}
