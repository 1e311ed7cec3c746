package mscclc_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// tracked lists the files of the repository whose names end so.
func tracked(t *testing.T, endings ...string) []string {
	out, err := exec.Command("git", append([]string{"ls-files", "--cached", "--others", "--exclude-standard"},
		endings...)...).Output()
	if err != nil {
		t.Skip("no repository of git: ", err)
	}
	var files []string
	for file := range strings.Lines(string(out)) {
		if file = strings.TrimSpace(file); exists(file) {
			files = append(files, file)
		}
	}
	return files
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

var link = regexp.MustCompile(`\]\(([^)#\s]*)(#[^)\s]*)?\)`)

// Every link of a page leads to a file of the repository, and to a heading that it has.
func TestLinks(t *testing.T) {
	pages := tracked(t, "*.md")
	if len(pages) < 20 {
		t.Fatalf("%d pages", len(pages))
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(prose(string(text)), -1) {
			to, heading := m[1], strings.TrimPrefix(m[2], "#")
			if strings.Contains(to, "://") {
				continue
			}
			file := page
			if to != "" {
				file = filepath.Join(filepath.Dir(page), to)
			}
			if !exists(file) {
				t.Errorf("%s links to %s, which is not there", page, to)
			} else if heading != "" && !hasHeading(t, file, heading) {
				t.Errorf("%s links to %s#%s, which is no heading there", page, to, heading)
			}
		}
	}
}

// prose is a page without its code.
func prose(page string) string {
	page = regexp.MustCompile("(?ms)^```.*?^```$").ReplaceAllString(page, "")
	return regexp.MustCompile("`[^`\n]*`").ReplaceAllString(page, "")
}

// hasHeading says whether a page has a heading, given as links name it: in lower case, with - for blanks.
func hasHeading(t *testing.T, file, heading string) bool {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		title, is := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
		name := regexp.MustCompile(`[^a-z0-9_ -]`).ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), "")
		if is && strings.HasPrefix(line, "#") && strings.ReplaceAll(name, " ", "-") == heading {
			return true
		}
	}
	return false
}
