package cli

import (
	"os"
	"path/filepath"
	"testing"
)

func TestArtifact(t *testing.T) {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"a.xml": "a.xml", "./a b/c.xml": "a%20b/c.xml", filepath.Join(dir, "x", "y.xml"): "x/y.xml", "../z.xml": "../z.xml",
		"a:b.xml": "./a:b.xml", StdinName: "stdin", "/elsewhere/f.xml": "file:///elsewhere/f.xml",
	} {
		if got := *artifact(name).URI; got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	for pos, want := range map[string][3]any{"a.xml:3:5": {"a.xml", 3, 5}, "a.xml": {"a.xml", 0, 0},
		"c:a.xml:3": {"c:a.xml:3", 0, 0}, "": {"", 0, 0}} {
		file, line, column := splitPos(pos)
		if got := [3]any{file, line, column}; got != want {
			t.Errorf("%s: %v", pos, got)
		}
	}
}
