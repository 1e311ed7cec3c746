package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocs compiles what the page of each runtime compiles, and finds in the page the line that compile prints to use the
// file.
func TestDocs(t *testing.T) {
	pages, err := filepath.Abs("../../docs")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	t.Setenv("MSCCLC_CACHE", "off")
	if err := os.Mkdir("algos", 0o777); err != nil {
		t.Fatal(err)
	}
	for _, runtime := range []string{"msccl", "rccl", "mscclpp"} {
		page, err := os.ReadFile(filepath.Join(pages, runtime+".md"))
		if err != nil {
			t.Fatal(err)
		}
		command := regexp.MustCompile(`(?m)^    mscclc (compile .*)$`).FindSubmatch(page)
		if command == nil {
			t.Errorf("%s.md compiles nothing", runtime)
			continue
		}
		var stdout, stderr bytes.Buffer
		if code := main1(strings.Fields(string(command[1])), nil, &stdout, &stderr); code != exitGood {
			t.Errorf("%s: exit code %d\n%s", command[0], code, stderr.String())
		}
		_, use, found := strings.Cut(stderr.String(), "\nuse it: ")
		if !found || !bytes.Contains(page, []byte(use)) {
			t.Errorf("%s.md does not have the line that compile prints: %s", runtime, use)
		}
	}
}
