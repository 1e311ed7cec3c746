package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/ir/diag"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
)

// examples writes every example that is a file to a folder, and goes there.
func examples(t *testing.T) map[string]diag.Explanation {
	t.Chdir(t.TempDir())
	files := map[string]diag.Explanation{}
	for _, code := range diag.Codes() {
		e, _ := diag.Explain(code)
		if e.File == "" {
			continue
		}
		if err := os.WriteFile(e.File, []byte(e.Example), 0o666); err != nil {
			t.Fatal(err)
		}
		files[e.File] = e
	}
	return files
}

// command runs the command.
func command(args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = main1(args, strings.NewReader(""), &out, &err)
	return code, out.String(), err.String()
}

// validSARIF reads a document, and checks it against SARIF's schema.
func validSARIF(t *testing.T, text string) *sarif.Report {
	t.Helper()
	doc, err := sarif.FromString(text, sarif.WithStrictValidation())
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(); err != nil {
		t.Errorf("not valid: %v", err)
	}
	return doc
}

// What verify rejects is a valid SARIF document with all there is to say.
func TestSARIF(t *testing.T) {
	files := examples(t)
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	os.WriteFile("näh.mscl", []byte("algorithm a()\ncollective allreduce(1)\nassert(false, \"äöü\") let x = 1\n"), 0o666)
	code, out, stderr := command("verify", "--sarif", "-", ".", filepath.Join(dir, "race.xml"), "nowhere.xml")
	if code != cli.ExitInput || !strings.Contains(stderr, "FAIL  race.xml    1 problem: race") {
		t.Errorf("exit code %d, stderr\n%s", code, stderr)
	}
	doc := validSARIF(t, out)
	run := doc.Runs[0]
	if n := len(run.Artifacts); n != len(files)+2 { // race.xml is given twice
		t.Errorf("%d artifacts of %d files", n, len(files)+2)
	}
	seen := map[string]*sarif.Result{}
	for _, r := range run.Results {
		rule := run.Tool.Driver.Rules[r.RuleIndex]
		uri := *r.Locations[0].PhysicalLocation.ArtifactLocation.URI
		if *rule.ID != *r.RuleID || rule.Help == nil || len(*rule.Help.Text) < 100 || rule.ShortDescription == nil {
			t.Errorf("%s: rule %d is %s", *r.RuleID, r.RuleIndex, *rule.ID)
		}
		if strings.Contains(uri, "/") || strings.Contains(uri, ":") || *r.Locations[0].PhysicalLocation.Region.StartLine < 1 {
			t.Errorf("%s: location %s", *r.RuleID, uri)
		}
		seen[uri+" "+*r.RuleID] = r
	}
	for name, e := range files {
		if seen[name+" "+string(e.Code)] == nil && e.Command == "mscclc verify -" {
			t.Errorf("%s has no result", name)
		}
	}
	r := seen["deadlock.xml deadlock"]
	if r == nil || len(r.RelatedLocations) != 2 ||
		!strings.Contains(*r.Message.Text, "\nrank 1 block 0 step 0 (r) waits for") ||
		*r.Locations[0].LogicalLocations[0].FullyQualifiedName != "rank 0 block 0 step 0" ||
		*r.Locations[0].PhysicalLocation.Region.StartColumn != 7 {
		t.Errorf("deadlock: %+v", r)
	}
	if w, _ := json.Marshal(r.Properties); !bytes.Contains(w, []byte(`"waits":[{`)) {
		t.Errorf("counterexample %s", w)
	}
	if r := seen["n%C3%A4h.mscl syntax"]; r == nil || *r.Locations[0].PhysicalLocation.Region.StartColumn != 22 {
		t.Errorf("characters before a column: %+v", r)
	}
}

// What lint finds is a valid SARIF document too, with a result for each finding.
func TestSARIFOfLint(t *testing.T) {
	examples(t)
	code, out, stderr := command("lint", "--sarif", "-", ".", "nowhere.json")
	if code != cli.ExitInput || !strings.Contains(stderr, "FOUND ") {
		t.Errorf("exit code %d, stderr\n%s", code, stderr)
	}
	doc := validSARIF(t, out)
	codes, levels := map[string]int{}, map[string]int{}
	for _, r := range doc.Runs[0].Results {
		codes[*r.RuleID]++
		levels[r.Level]++
	}
	if codes["lint-meet"] == 0 || codes["io"] != 1 || levels["warning"] == 0 || levels["error"] != 1+codes["malformed"]+codes["mscclpp-zero"] {
		t.Errorf("results %v, levels %v", codes, levels)
	}
	if code, _, stderr := command("lint", "--sarif", "plan.txt", "."); code != cli.ExitUsage ||
		!strings.Contains(stderr, "--sarif takes a name that ends in") {
		t.Errorf("exit code %d, stderr\n%s", code, stderr)
	}
	if code, _, _ := command("lint", "--sarif", "-", "--json", "."); code != cli.ExitUsage {
		t.Errorf("exit code %d", code)
	}
}
