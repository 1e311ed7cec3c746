package kernels

import (
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// layers are the folders of headers: each includes itself and those before it.
var layers = []string{"abi", "platform", "values", "protocol", "moves", "rows", "loop", "few"}

// include finds what a source includes, with its quotes.
var include = regexp.MustCompile(`(?m)^\s*#\s*include\s*(\S+)`)

// TestHeaderFree holds the sources to include nothing but each other, and no layer above their own.
func TestHeaderFree(t *testing.T) {
	files, err := fs.Glob(Sources, "*/*.h")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, name := range files {
		src, err := Sources.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		layer := slices.Index(layers, path.Dir(name))
		for _, m := range include.FindAllSubmatch(src, -1) {
			own := string(m[1])
			if len(own) < 3 || own[0] != '"' {
				t.Errorf("%s includes %s", name, own)
				continue
			}
			included := path.Join(path.Dir(name), own[1:len(own)-1])
			if _, err := Sources.ReadFile(included); err != nil {
				t.Errorf("%s includes %s, which is not here", name, included)
			} else if slices.Index(layers, path.Dir(included)) > layer {
				t.Errorf("%s includes %s, which is of a later layer", name, included)
			}
		}
	}
}

// TestSources holds the embedded sources to be all headers of the layers: a header that is not embedded rebuilds
// nothing when it changes.
func TestSources(t *testing.T) {
	embedded, err := fs.Glob(Sources, "*/*.h")
	if err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Glob("*/*.h")
	if err != nil {
		t.Fatal(err)
	}
	here = slices.DeleteFunc(here, func(name string) bool { return filepath.Dir(name) == "bench" })
	if !slices.Equal(embedded, here) {
		t.Errorf("embedded are %q, and here are %q", embedded, here)
	}
	for _, name := range embedded {
		if !slices.Contains(layers, path.Dir(name)) {
			t.Errorf("%s is in no layer", name)
		}
	}
}
