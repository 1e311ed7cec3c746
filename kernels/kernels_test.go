package kernels

import (
	"io/fs"
	"regexp"
	"testing"
)

// TestHeaderFree holds the sources to include nothing but each other.
func TestHeaderFree(t *testing.T) {
	files, err := fs.Glob(Sources, "*.h")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	include := regexp.MustCompile(`(?m)^\s*#\s*include\s*(\S+)`)
	for _, name := range files {
		src, err := Sources.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range include.FindAllSubmatch(src, -1) {
			own := string(m[1])
			if len(own) < 3 || own[0] != '"' {
				t.Errorf("%s includes %s", name, own)
			} else if _, err := Sources.ReadFile(own[1 : len(own)-1]); err != nil {
				t.Errorf("%s includes %s, which is not here", name, own)
			}
		}
	}
}
