package mscclc_test

import (
	"os"
	"regexp"
	"testing"
)

// TestJobs: hosted CI runs the jobs of .ci/run, and CONTRIBUTING.md describes them.
func TestJobs(t *testing.T) {
	script, err := os.ReadFile(".ci/run")
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?m)^jobs=\((.*)\)$`).FindSubmatch(script)
	if list == nil {
		t.Fatal(".ci/run has no list of jobs")
	}
	jobs := regexp.MustCompile(`\w+`).FindAllString(string(list[1]), -1)
	if len(jobs) < 5 {
		t.Errorf("the jobs are %q; there are more", jobs)
	}
	for file, form := range map[string]string{".github/workflows/ci.yml": `(?m)^ +job: \[.*\bJOB\b.*\]$`,
		"CONTRIBUTING.md": "(?m)^\\| `JOB` \\|", ".ci/run": `(?m)^JOB\(\) \{`} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, job := range jobs {
			if !regexp.MustCompile(regexp.MustCompile("JOB").ReplaceAllString(form, job)).Match(text) {
				t.Errorf("%s does not have job %s", file, job)
			}
		}
	}
}
