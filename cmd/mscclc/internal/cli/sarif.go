package cli

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"mscclc/ir/diag"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
	"github.com/spf13/pflag"
)

// SARIFFlag defines --sarif.
func SARIFFlag(f *pflag.FlagSet, value *string) {
	f.StringVar(value, "sarif", "",
		"write SARIF 2.1.0 to `FILE`.sarif or .json too, for continuous integration; - is stdout, and the lines go to stderr")
}

// WriteSARIF writes reports as SARIF 2.1.0: a rule for each code, a result for
// each problem, with its notes as related locations and its counterexample as a
// property. Text gives a file's text.
func WriteSARIF(w io.Writer, reports []Report, text func(string) []byte) error {
	doc := sarif.NewReport()
	run := sarif.NewRun().WithColumnKind("unicodeCodePoints")
	driver := sarif.NewToolComponent().WithName("mscclc").WithVersion(Version())
	rules := map[diag.Code]int{}
	for i, code := range diag.Codes() {
		rules[code] = i
		driver.AddRule(sarifRule(code))
	}
	run.WithTool(sarif.NewTool().WithDriver(driver))
	s := &sarifWriter{columns: columns{text: text, lines: map[string]*diag.Lines{}}}
	good, listed := true, map[string]bool{}
	for i := range reports {
		r := &reports[i]
		if !listed[*artifact(r.File).URI] {
			listed[*artifact(r.File).URI] = true
			run.AddArtifact(sarif.NewArtifact().WithLocation(artifact(r.File)).WithRoles([]string{"analysisTarget"}))
		}
		for k := range r.Problems {
			p := &r.Problems[k]
			good = good && p.Code != diag.Internal
			run.AddResult(s.result(r.File, p).WithRuleIndex(rules[p.Code]))
		}
	}
	run.AddInvocation(sarif.NewInvocation().WithExecutionSuccessful(good))
	return doc.AddRun(run).PrettyWrite(w)
}

func sarifRule(code diag.Code) *sarif.ReportingDescriptor {
	e, _ := diag.Explain(code)
	whole := e.Text()
	text, markdown := whole, whole
	if e.Example != "" {
		text += "\n\nAn example:\n\n" + Indent(e.Example)
		markdown += "\n\nAn example:\n\n```\n" + strings.TrimRight(e.Example, "\n") + "\n```"
	}
	rule := sarif.NewRule(string(code)).WithName(string(code)).WithDescription(e.First())
	rule.WithFullDescription(sarif.NewMultiformatMessageString().WithText(whole))
	rule.WithHelp(sarif.NewMultiformatMessageString().WithText(text).WithMarkdown(markdown))
	return rule.WithDefaultConfiguration(sarif.NewReportingConfiguration().WithLevel(sarifLevel(code)))
}

func sarifLevel(code diag.Code) string {
	if code.Warning() {
		return sarif.LevelWarning
	}
	return sarif.LevelError
}

type sarifWriter struct{ columns columns }

// result returns one problem of file. What its notes and its hint say is in the
// message too, for readers that show nothing else.
func (s *sarifWriter) result(file string, p *diag.Problem) *sarif.Result {
	message := p.Message
	result := sarif.NewRuleResult(string(p.Code)).WithLevel(sarifLevel(p.Code))
	result.AddLocation(s.location(file, p.Pos, true).WithLogicalLocations(logical(p)))
	for i, n := range p.Notes {
		message += "\n" + n.Message
		if n.Pos != "" {
			result.AddRelatedLocation(s.location(file, n.Pos, false).WithID(i + 1).WithMessage(sarif.NewTextMessage(n.Message)))
		}
	}
	if p.Hint != "" {
		message += "\nhint: " + p.Hint
	}
	if p.Counterexample != nil {
		result.WithProperties(sarif.NewPropertyBag().Add("counterexample", p.Counterexample))
	}
	return result.WithMessage(sarif.NewTextMessage(message))
}

// logical names the step of a problem.
func logical(p *diag.Problem) []*sarif.LogicalLocation {
	if p.Rank == nil {
		return []*sarif.LogicalLocation{}
	}
	name := fmt.Sprintf("rank %d", *p.Rank)
	if p.Block != nil {
		name += fmt.Sprintf(" block %d", *p.Block)
		if p.Step != nil {
			name += fmt.Sprintf(" step %d", *p.Step)
		}
	}
	return []*sarif.LogicalLocation{sarif.NewLogicalLocation().WithFullyQualifiedName(name).WithKind("member")}
}

// location returns a place as problems write it: file:line:col, or a file. Viewers
// want a line: where none is known and there must be one, it is the first.
func (s *sarifWriter) location(file, pos string, line bool) *sarif.Location {
	name, at, column := splitPos(pos)
	if name == "" {
		name = file
	}
	place := sarif.NewPhysicalLocation().WithArtifactLocation(artifact(name))
	switch {
	case at > 0:
		place.WithRegion(sarif.NewRegion().WithStartLine(at).WithStartColumn(s.columns.of(name, at, column)))
	case line:
		place.WithRegion(sarif.NewRegion().WithStartLine(1))
	}
	return sarif.NewLocationWithPhysicalLocation(place)
}

// splitPos takes file:line:col apart.
func splitPos(pos string) (file string, line, column int) {
	rest, c, ok1 := cutLast(pos)
	name, l, ok2 := cutLast(rest)
	if !ok1 || !ok2 {
		return pos, 0, 0
	}
	return name, l, c
}

func cutLast(s string) (before string, n int, ok bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return s, 0, false
	}
	n, err := strconv.Atoi(s[i+1:])
	return s[:i], n, err == nil && n > 0
}

// artifact returns a file by its URI, which is relative to where the command runs
// if the file lies below.
func artifact(name string) *sarif.ArtifactLocation {
	if name == StdinName {
		name = "stdin"
	}
	if filepath.IsAbs(name) {
		if dir, err := os.Getwd(); err == nil {
			if rel, err := filepath.Rel(dir, name); err == nil && filepath.IsLocal(rel) {
				name = rel
			}
		}
	}
	u := url.URL{Path: filepath.ToSlash(filepath.Clean(name))}
	if filepath.IsAbs(name) {
		u.Scheme = "file"
	}
	return sarif.NewArtifactLocation().WithURI(u.String())
}

// columns turns columns in bytes, as diagnostics count, into characters.
type columns struct {
	text  func(string) []byte
	lines map[string]*diag.Lines
}

func (c *columns) of(file string, line, column int) int {
	lines, ok := c.lines[file]
	if !ok {
		lines = diag.NewLines(c.text(file))
		c.lines[file] = lines
	}
	text, ok := lines.Line(line)
	if !ok || column-1 > len(text) {
		return column
	}
	return utf8.RuneCount(text[:max(column-1, 0)]) + 1
}
