package runtime_test

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	library "mscclc/runtime"
)

// layers are the folders of src, as doc.go has them: each includes files of those before it only.
var layers = []string{".", "bundle", "device", "launch", "team", "net", "consensus", "front", "record", "peers",
	"meeting", "learn", "calls", "comms", "host", "c"}

var isInclude = regexp.MustCompile(`(?m)^#include "([^"]+)"`)

// TestLayers reads what the files of src include, so that no two folders need each other.
func TestLayers(t *testing.T) {
	sources, err := fs.Sub(library.Sources, "src")
	if err != nil {
		t.Fatal(err)
	}
	seen, includes := map[string]bool{}, 0
	err = fs.WalkDir(sources, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(sources, name)
		if err != nil {
			return err
		}
		own := path.Dir(name)
		if seen[own] = true; !slices.Contains(layers, own) {
			t.Errorf("%s: folder %s is not in the list of layers", name, own)
		}
		for _, m := range isInclude.FindAllSubmatch(text, -1) {
			of := path.Dir(path.Join(own, string(m[1])))
			if strings.HasPrefix(of, "..") {
				continue // of another package
			}
			if includes++; slices.Index(layers, of) > slices.Index(layers, own) {
				t.Errorf("%s includes %s, which stands after it in the list of layers", name, m[1])
			}
		}
		return nil
	})
	if err != nil || len(seen) != len(layers) || includes < 100 {
		t.Errorf("%v; %d folders, %d includes", err, len(seen), includes)
	}
}
