package mscclc_test

import (
	"fmt"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// family is how many files of a folder may share a word of their names before it counts as a package of its own.
const family = 6

// toSplit are families that are left: "folder word". The list may only shrink. An entry that names no family fails.
var toSplit = []string{
	"transport ucx", // cgo compiles the files of a package's own folder only
}

var (
	isCode  = regexp.MustCompile(`\.(go|c|cc|h|cu|hip)$`)
	camel   = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	systems = []string{"linux", "darwin", "windows", "unix", "other", "amd64", "arm64", "cgo", "nocgo", "js", "wasm", "gen"}
)

// sourceFiles returns the tracked files of code by folder, without tests.
func sourceFiles(t *testing.T) map[string][]string {
	t.Helper()
	folders := map[string][]string{}
	for _, file := range tracked(t, "*.go", "*.c", "*.cc", "*.h", "*.cu", "*.hip") {
		generated := strings.Contains(file, "_gen.") // which nobody edits
		if !strings.HasSuffix(file, "_test.go") && !generated && !strings.Contains(file, "testdata/") {
			folders[path.Dir(file)] = append(folders[path.Dir(file)], path.Base(file))
		}
	}
	return folders
}

// wordsOf returns the first and the last word of a file's name, without what says for which system it is.
func wordsOf(file string) []string {
	name := isCode.ReplaceAllString(file, "")
	words := strings.Split(strings.ToLower(camel.ReplaceAllString(name, "${1}_$2")), "_")
	for len(words) > 1 && slices.Contains(systems, words[len(words)-1]) {
		words = words[:len(words)-1]
	}
	return slices.Compact([]string{words[0], words[len(words)-1]})
}

// families returns the families of folders, as "folder word", with their files.
func families(folders map[string][]string) map[string][]string {
	found := map[string][]string{}
	for folder, files := range folders {
		of := map[string][]string{}
		for _, file := range files {
			for _, word := range wordsOf(file) {
				of[word] = append(of[word], file)
			}
		}
		for word, list := range of {
			if len(list) >= family {
				found[folder+" "+word] = list
			}
		}
	}
	return found
}

// TestFamilies: where six files of a folder share the first or the last word of their names, that word is the subject
// of a package of its own.
func TestFamilies(t *testing.T) {
	folders := sourceFiles(t)
	if len(folders) < 60 {
		t.Fatalf("%d folders", len(folders))
	}
	found := families(folders)
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if !slices.Contains(toSplit, name) {
			t.Errorf("%s: %d files share this word: make a package, or rename them: %v", name, len(found[name]), found[name])
		}
	}
	for _, name := range toSplit {
		if found[name] == nil {
			t.Errorf("%s is no family any more: take it from toSplit", name)
		}
	}
}

// TestFamiliesAreFound plants families.
func TestFamiliesAreFound(t *testing.T) {
	for _, pattern := range []string{"plan_%d.go", "plan%c_x.cc", "%d_plan.go", "plan%c.cc", "plan_%d_linux.go"} {
		var files []string
		for i := range family {
			if strings.Contains(pattern, "%c") {
				files = append(files, fmt.Sprintf(pattern, 'A'+rune(i)))
			} else {
				files = append(files, fmt.Sprintf(pattern, i))
			}
		}
		if found := families(map[string][]string{"x": files}); found["x plan"] == nil {
			t.Errorf("%v: %v", files, found)
		}
		if found := families(map[string][]string{"x": files[1:]}); found["x plan"] != nil {
			t.Errorf("%v: %v", files[1:], found)
		}
	}
}

// large is how many files a folder may have without a sentence that says what it is.
const large = 25

// TestLargePackages: in the table of ARCHITECTURE.md, a package of many files has a row of its own, whose first
// sentence says what it is without "and".
func TestLargePackages(t *testing.T) {
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for folder, files := range sourceFiles(t) {
		if len(files) <= large {
			continue
		}
		n++
		row := regexp.MustCompile("(?m)^\\| `" + regexp.QuoteMeta(folder) + "` \\| ([^|]*) \\|").FindSubmatch(text)
		if row == nil {
			t.Errorf("%s has %d files, and no row of its own in ARCHITECTURE.md", folder, len(files))
			continue
		}
		sentence := regexp.MustCompile(`[.:;] |$`).Split(string(row[1]), 2)[0]
		if regexp.MustCompile(`\band\b`).MatchString(sentence) {
			t.Errorf("%s has %d files, and the first sentence of its row in ARCHITECTURE.md says two things: %s", folder,
				len(files), sentence)
		}
	}
	if n == 0 {
		t.Error("no package is large: this test tests nothing")
	}
}
