package mscclc_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// mayImport says, for each package of the module, which others of the module
// it may import; "*" is any.
var mayImport = map[string][]string{
	"mscclc/ir/diag":                    {},
	"mscclc/ir/epilogue":                {"mscclc/ir/diag"},
	"mscclc/files":                      {"mscclc/ir/diag"},
	"mscclc/ir":                         {"mscclc/ir/diag", "mscclc/ir/epilogue"},
	"mscclc/ir/fifo":                    {"mscclc/ir"},
	"mscclc/ir/onesided":                {"mscclc/ir"},
	"mscclc/ir/either":                  {"mscclc/ir", "mscclc/ir/fifo", "mscclc/ir/onesided"},
	"mscclc/internal/heap":              {},
	"mscclc/internal/maxflow":           {},
	"mscclc/internal/strictjson":        {"mscclc/files", "mscclc/ir/diag"},
	"mscclc/internal/usercache":         {},
	"mscclc/internal/covering":          {}, // what tests try
	"mscclc/internal/hosts":             {}, // hosts for tests
	"mscclc/internal/testing/objects":   {}, // what tests compile
	"mscclc/ir/form":                    {"mscclc/ir", "mscclc/ir/diag", "mscclc/ir/either", "mscclc/ir/fifo", "mscclc/ir/onesided", "mscclc/ir/text"},
	"mscclc/ir/verify":                  {"mscclc/ir", "mscclc/ir/diag", "mscclc/ir/either", "mscclc/ir/eval", "mscclc/ir/fifo", "mscclc/ir/form", "mscclc/ir/vclock", "mscclc/ir/verify/checker", "mscclc/ir/verify/onesided"},
	"mscclc/ir/verify/checker":          {"mscclc/ir", "mscclc/ir/diag", "mscclc/ir/either", "mscclc/ir/eval", "mscclc/ir/form"},
	"mscclc/ir/verify/onesided":         {"mscclc/ir", "mscclc/ir/diag", "mscclc/ir/either", "mscclc/ir/eval", "mscclc/ir/onesided", "mscclc/ir/vclock", "mscclc/ir/verify/checker"},
	"mscclc/ir/verify/explore":          {"mscclc/ir", "mscclc/ir/fifo"}, // judges ir/verify in tests, and shares nothing with it
	"mscclc/ir/verify/explore/onesided": {"mscclc/ir", "mscclc/ir/onesided", "mscclc/ir/verify/explore"},
	"mscclc/ir/bitwise":                 {"mscclc/ir", "mscclc/ir/either", "mscclc/ir/eval", "mscclc/ir/fifo", "mscclc/ir/onesided"},
	"mscclc/ir/lint":                    {"mscclc/ir", "mscclc/ir/diag"},
	"mscclc/ir/internal/opsgen":         {"mscclc/ir"},
	"mscclc/ir/irtest":                  {"mscclc/ir", "mscclc/ir/diag", "mscclc/ir/either", "mscclc/ir/epilogue", "mscclc/ir/fifo", "mscclc/ir/form", "mscclc/ir/irtest/parse", "mscclc/ir/onesided", "mscclc/ir/text"}, // programs for tests
	"mscclc/ir/irtest/parse":            {"mscclc/ir", "mscclc/ir/diag", "mscclc/ir/either", "mscclc/ir/epilogue", "mscclc/ir/fifo", "mscclc/ir/form", "mscclc/ir/onesided", "mscclc/ir/text"},
	"mscclc/lang":                       {"mscclc/files", "mscclc/ir", "mscclc/ir/diag", "mscclc/ir/epilogue", "mscclc/ir/eval", "mscclc/ir/placement", "mscclc/lang/arithmetic", "mscclc/lang/internal/channels", "mscclc/lang/syntax"},

	"mscclc/codegen":               {"mscclc/files", "mscclc/internal/strictjson", "mscclc/ir", "mscclc/ir/diag", "mscclc/ir/either", "mscclc/ir/eval", "mscclc/ir/fifo", "mscclc/ir/form"},
	"mscclc/codegen/msccl":         {"mscclc/codegen", "mscclc/ir", "mscclc/ir/diag", "mscclc/ir/either", "mscclc/ir/eval", "mscclc/ir/fifo", "mscclc/ir/form"},
	"mscclc/codegen/mscclpp":       {"mscclc/codegen", "mscclc/internal/strictjson", "mscclc/ir", "mscclc/ir/diag", "mscclc/ir/form", "mscclc/ir/text"},
	"mscclc/codegen/mscclpp/lower": {"mscclc/codegen", "mscclc/codegen/mscclpp", "mscclc/ir", "mscclc/ir/diag", "mscclc/ir/onesided"},
	"mscclc/codegen/program":       {"mscclc/codegen", "mscclc/internal/strictjson", "mscclc/ir", "mscclc/ir/diag", "mscclc/ir/either", "mscclc/ir/epilogue", "mscclc/ir/fifo", "mscclc/ir/form", "mscclc/ir/onesided"},
	"mscclc/codegen/codegentest":   {"mscclc/codegen", "mscclc/ir", "mscclc/ir/diag", "mscclc/ir/either", "mscclc/ir/fifo", "mscclc/ir/form", "mscclc/ir/irtest", "mscclc/ir/irtest/parse", "mscclc/ir/onesided"}, // programs for tests
	// judges what codegen writes, and shares nothing with it
	"mscclc/codegen/xmljudge": {},

	"mscclc/runtime":                        {"mscclc/executor/fibers", "mscclc/executor/gpu", "mscclc/files", "mscclc/kernels", "mscclc/transport"},
	"mscclc/runtime/libraries":              {"mscclc/runtime"}, // builds them for packages
	"mscclc/kernels":                        {},
	"mscclc/kernels/pack":                   {},
	"mscclc/transport":                      {"mscclc/kernels"},
	"mscclc/transport/enginetest":           {"mscclc/transport"}, // an engine for tests
	"mscclc/executor/data":                  {"mscclc/ir", "mscclc/ir/epilogue"},
	"mscclc/bundle/limits":                  {},
	"mscclc/bundle/internal/rowsgen":        {"mscclc/algorithms/choose", "mscclc/bundle/limits", "mscclc/executor/data", "mscclc/ir", "mscclc/ir/epilogue"},
	"mscclc/selection":                      {"mscclc/bundle/limits", "mscclc/executor/data", "mscclc/executor/launch", "mscclc/internal/strictjson", "mscclc/ir", "mscclc/ir/diag", "mscclc/passes/core"},
	"mscclc/executor/abi":                   {"mscclc/bundle/limits", "mscclc/executor/data", "mscclc/executor/launch", "mscclc/ir", "mscclc/ir/diag", "mscclc/ir/either", "mscclc/ir/epilogue", "mscclc/ir/eval", "mscclc/ir/form", "mscclc/ir/onesided"},
	"mscclc/executor/exchange":              {},
	"mscclc/executor/launch":                {},
	"mscclc/executor/proof":                 {"mscclc/internal/usercache", "mscclc/ir", "mscclc/ir/diag", "mscclc/ir/either", "mscclc/ir/verify"},
	"mscclc/executor":                       {"mscclc/bundle/limits", "mscclc/executor/abi", "mscclc/executor/data", "mscclc/executor/launch", "mscclc/executor/proof", "mscclc/ir", "mscclc/ir/diag", "mscclc/ir/either", "mscclc/ir/epilogue", "mscclc/ir/verify"},
	"mscclc/executor/plan":                  {"mscclc/bundle/limits", "mscclc/executor", "mscclc/executor/abi", "mscclc/executor/data", "mscclc/executor/exchange", "mscclc/executor/launch", "mscclc/executor/proof", "mscclc/ir", "mscclc/ir/diag", "mscclc/ir/either", "mscclc/ir/epilogue", "mscclc/ir/verify", "mscclc/kernels", "mscclc/transport"},
	"mscclc/executor/replay":                {"mscclc/executor", "mscclc/executor/abi", "mscclc/executor/data", "mscclc/ir", "mscclc/ir/diag", "mscclc/ir/either", "mscclc/ir/eval", "mscclc/ir/onesided", "mscclc/ir/verify"},
	"mscclc/executor/cpu":                   {"mscclc/executor", "mscclc/executor/abi", "mscclc/executor/fibers", "mscclc/kernels"},
	"mscclc/executor/fibers":                {"mscclc/kernels"},
	"mscclc/executor/shared":                {"mscclc/executor"},
	"mscclc/executor/host":                  {"mscclc/executor", "mscclc/executor/abi", "mscclc/executor/cpu", "mscclc/executor/data", "mscclc/executor/plan", "mscclc/executor/shared"},
	"mscclc/executor/gpu":                   {"mscclc/executor", "mscclc/executor/abi", "mscclc/executor/data", "mscclc/executor/plan", "mscclc/executor/shared", "mscclc/ir", "mscclc/kernels"},
	"mscclc/executor/cuda":                  {"mscclc/executor", "mscclc/executor/gpu"},
	"mscclc/executor/hip":                   {"mscclc/executor", "mscclc/executor/gpu"},
	"mscclc/executor/gpu/gputest":           {"*"}, // the tests of both
	"mscclc/executor/rows":                  {"*"}, // tests
	"mscclc/bench":                          {"mscclc/executor", "mscclc/executor/abi", "mscclc/executor/data", "mscclc/executor/exchange", "mscclc/executor/launch", "mscclc/executor/nccl", "mscclc/executor/plan", "mscclc/ir", "mscclc/ir/either", "mscclc/ir/epilogue", "mscclc/selection"},
	"mscclc/executor/measure":               {"mscclc/executor/abi", "mscclc/executor/exchange", "mscclc/executor/shared", "mscclc/transport"},
	"mscclc/executor/nccl":                  {"mscclc/executor", "mscclc/executor/data", "mscclc/ir"},
	"mscclc/topology":                       {"mscclc/files", "mscclc/ir/diag"},
	"mscclc/topology/nccl":                  {"mscclc/files", "mscclc/ir/diag", "mscclc/topology"},
	"mscclc/topology/bound":                 {"mscclc/internal/maxflow", "mscclc/ir", "mscclc/ir/diag", "mscclc/topology"},
	"mscclc/synthesis":                      {"mscclc/internal/heap", "mscclc/internal/maxflow", "mscclc/ir", "mscclc/ir/diag", "mscclc/synthesis/certificate", "mscclc/synthesis/rounds", "mscclc/topology", "mscclc/topology/bound"},
	"mscclc/synthesis/rounds":               {},
	"mscclc/synthesis/certificate":          {"mscclc/ir", "mscclc/topology"},
	"mscclc/simulate/devices":               {"mscclc/internal/strictjson", "mscclc/ir", "mscclc/ir/diag"},
	"mscclc/simulate/internal/events":       {"mscclc/internal/heap"},
	"mscclc/simulate/internal/network":      {"mscclc/internal/heap", "mscclc/ir", "mscclc/simulate/internal/events", "mscclc/topology"},
	"mscclc/simulate/internal/launches":     {"mscclc/executor/launch", "mscclc/simulate/devices", "mscclc/simulate/internal/events", "mscclc/simulate/internal/network"},
	"mscclc/simulate/internal/onesided":     {"mscclc/executor/launch", "mscclc/ir", "mscclc/ir/eval", "mscclc/ir/onesided", "mscclc/simulate/devices", "mscclc/simulate/internal/events", "mscclc/simulate/internal/launches", "mscclc/simulate/internal/network"},
	"mscclc/simulate/internal/twosided":     {"mscclc/executor/launch", "mscclc/ir", "mscclc/ir/fifo", "mscclc/simulate/devices", "mscclc/simulate/internal/events", "mscclc/simulate/internal/launches", "mscclc/simulate/internal/network"},
	"mscclc/simulate":                       {"mscclc/executor/data", "mscclc/executor/launch", "mscclc/ir", "mscclc/ir/diag", "mscclc/ir/either", "mscclc/simulate/devices", "mscclc/simulate/internal/events", "mscclc/simulate/internal/launches", "mscclc/simulate/internal/network", "mscclc/simulate/internal/onesided", "mscclc/simulate/internal/twosided", "mscclc/topology"},
	"mscclc":                                {"mscclc/codegen", "mscclc/codegen/msccl", "mscclc/codegen/mscclpp", "mscclc/codegen/mscclpp/lower", "mscclc/codegen/program", "mscclc/files", "mscclc/ir", "mscclc/ir/diag", "mscclc/ir/either", "mscclc/ir/epilogue", "mscclc/ir/fifo", "mscclc/ir/onesided", "mscclc/ir/verify", "mscclc/lang", "mscclc/lang/syntax", "mscclc/passes/channels", "mscclc/passes/core", "mscclc/passes/fifo", "mscclc/passes/lift", "mscclc/passes/slots"},
	"mscclc/lsp":                            {"*"}, // and see engine_test.go
	"mscclc/play":                           {"*"}, // and see engine_test.go
	"mscclc/play/site":                      {"mscclc/internal/usercache", "mscclc/play"},
	"mscclc/play/site/engine":               {"mscclc/play/site"}, // builds it for packages
	"mscclc/lsp/wasm":                       {"mscclc/lsp"},
	"mscclc/play/browser":                   {"*"}, // drives the page in tests
	"mscclc/algorithms":                     {"*"},
	"mscclc/algorithms/choose":              {"*"},
	"mscclc/bundle":                         {"*"},
	"mscclc/cmd/mscclc":                     {"*"},
	"mscclc/ir/eval":                        {"mscclc/ir", "mscclc/ir/diag", "mscclc/ir/either", "mscclc/ir/fifo", "mscclc/ir/form", "mscclc/ir/onesided"},
	"mscclc/ir/graph":                       {"mscclc/ir", "mscclc/ir/text"},
	"mscclc/ir/property":                    {"mscclc/ir", "mscclc/ir/diag", "mscclc/ir/eval", "mscclc/ir/form", "mscclc/ir/vclock"},
	"mscclc/ir/text":                        {"mscclc/ir", "mscclc/ir/diag", "mscclc/ir/either", "mscclc/ir/onesided"},
	"mscclc/ir/vclock":                      {},
	"mscclc/passes/channels":                {"mscclc/ir", "mscclc/ir/diag", "mscclc/ir/either", "mscclc/ir/eval", "mscclc/ir/onesided", "mscclc/ir/verify"},
	"mscclc/passes/core":                    {"mscclc/ir", "mscclc/ir/diag", "mscclc/ir/either", "mscclc/ir/eval", "mscclc/ir/onesided", "mscclc/ir/text", "mscclc/ir/vclock"},
	"mscclc/passes/fifo":                    {"mscclc/ir", "mscclc/ir/diag", "mscclc/ir/eval", "mscclc/ir/property", "mscclc/ir/vclock"},
	"mscclc/passes/lift":                    {"mscclc/ir", "mscclc/ir/eval", "mscclc/ir/fifo"},
	"mscclc/passes/slots":                   {"mscclc/ir", "mscclc/ir/diag", "mscclc/ir/either", "mscclc/ir/eval", "mscclc/ir/fifo", "mscclc/ir/form", "mscclc/ir/onesided"},
	"mscclc/passes/passestest":              {"mscclc/algorithms", "mscclc/ir", "mscclc/lang", "mscclc/lang/syntax"},
	"mscclc/ir/placement":                   {"mscclc/ir"},
	"mscclc/lang/langtest":                  {"mscclc/lang/syntax"},
	"mscclc/lang/internal/channels":         {"mscclc/ir", "mscclc/ir/diag"},
	"mscclc/lang/arithmetic":                {},
	"mscclc/lang/syntax":                    {"mscclc/files", "mscclc/ir/diag"},
	"mscclc/cmd/mscclc/internal/cli":        {"*"},
	"mscclc/cmd/mscclc/internal/hostcache":  {"*"},
	"mscclc/cmd/mscclc/internal/measurecmd": {"*"},
	"mscclc/cmd/mscclc/internal/picture":    {"*"},

	"mscclc/cmd/mscclc/internal/benchcmd":    {"*"},
	"mscclc/cmd/mscclc/internal/bundlecmd":   {"*"},
	"mscclc/cmd/mscclc/internal/choosing":    {"*"},
	"mscclc/cmd/mscclc/internal/compiling":   {"*"},
	"mscclc/cmd/mscclc/internal/completion":  {"*"},
	"mscclc/cmd/mscclc/internal/devices":     {"*"},
	"mscclc/cmd/mscclc/internal/doctorcmd":   {"*"},
	"mscclc/cmd/mscclc/internal/nccllib":     {},
	"mscclc/cmd/mscclc/internal/playcmd":     {"*"},
	"mscclc/cmd/mscclc/internal/processes":   {"*"},
	"mscclc/cmd/mscclc/internal/scarce":      {"mscclc/ir/diag"},
	"mscclc/cmd/mscclc/internal/runcmd":      {"*"},
	"mscclc/cmd/mscclc/internal/synthcmd":    {"*"},
	"mscclc/cmd/mscclc/internal/selectcmd":   {"*"},
	"mscclc/cmd/mscclc/internal/showcmd":     {"*"},
	"mscclc/cmd/mscclc/internal/simulatecmd": {"*"},
	"mscclc/cmd/mscclc/internal/sizing":      {"*"},
	"mscclc/cmd/mscclc/internal/tuned":       {"*"},
	"mscclc/cmd/mscclc/internal/tunecmd":     {"*"},
	"mscclc/cmd/mscclc/internal/tuning":      {"*"},
	"mscclc/cmd/mscclc/internal/verifycmd":   {"*"},
	"mscclc/cmd/mscclc/internal/withcmd":     {"*"},
}

// testOnly are the packages that only tests import, and each other.
var testOnly = []string{"mscclc/internal/covering", "mscclc/internal/hosts", "mscclc/internal/testing/objects", "mscclc/lang/langtest", "mscclc/passes/passestest", "mscclc/codegen/codegentest",
	"mscclc/ir/irtest", "mscclc/ir/irtest/parse", "mscclc/ir/graph", "mscclc/ir/verify/explore", "mscclc/ir/verify/explore/onesided",
	"mscclc/executor/gpu/gputest",
	"mscclc/transport/enginetest"}

// cgoPackages are the only ones with import "C"; gputest maps memory as other libraries do.
var cgoPackages = []string{"mscclc/executor/cpu", "mscclc/executor/fibers", "mscclc/executor/gpu", "mscclc/executor/gpu/gputest",
	"mscclc/executor/nccl", "mscclc/transport", "mscclc/transport/enginetest"}

type listed struct {
	ImportPath string
	Imports    []string
	CgoFiles   []string
}

func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports,CgoFiles", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; seen++ {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		may, ok := mayImport[p.ImportPath]
		if !ok {
			t.Errorf("%s is not in the table of imports", p.ImportPath)
			continue
		}
		for _, imp := range p.Imports {
			own := imp == "mscclc" || strings.HasPrefix(imp, "mscclc/")
			if own && !slices.Contains(may, imp) && !slices.Contains(may, "*") ||
				slices.Contains(testOnly, imp) && !slices.Contains(testOnly, p.ImportPath) {
				t.Errorf("%s must not import %s", p.ImportPath, imp)
			}
		}
		if (len(p.CgoFiles) > 0) != slices.Contains(cgoPackages, p.ImportPath) {
			t.Errorf("%s: cgo files %v; only %v have cgo", p.ImportPath, p.CgoFiles, cgoPackages)
		}
	}
	if seen != len(mayImport) {
		t.Errorf("go list knows %d packages, the table %d", seen, len(mayImport))
	}
}

// everybodys are packages that the table of ARCHITECTURE.md leaves out of its imports.
var everybodys = []string{"mscclc/files", "mscclc/ir/diag"}

// mostFolders is how many folders a row of the table may name: with more, nobody finds what a row says of one.
const mostFolders = 4

// TestTableOfFolders compares the table of folders in ARCHITECTURE.md with mayImport: each package has a row, and the
// last cell of a row lists what its packages may import beside each other. A row may name several packages by a pattern
// of path.Match. MSCCLC_UPDATE writes these cells.
func TestTableOfFolders(t *testing.T) {
	const file = "ARCHITECTURE.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(text, []byte("\n")); n >= 200 {
		t.Errorf("%s has %d lines; it is to have fewer than 200", file, n)
	}
	shown := map[string]bool{}
	row := regexp.MustCompile("(?m)^\\| (`[^|]+) \\|([^|]*)\\|([^|]*)\\|$")
	name := regexp.MustCompile("`([^`]+)`")
	fresh := row.ReplaceAllFunc(text, func(line []byte) []byte {
		cells := row.FindSubmatch(line)
		var packages []string
		names := name.FindAllSubmatch(cells[1], -1)
		if len(names) > mostFolders {
			t.Errorf("%s: a row names %d folders; at most %d are allowed: %s", file, len(names), mostFolders, cells[1])
		}
		for _, m := range names {
			found := packagesOf(path.Join("mscclc", string(m[1])))
			if len(found) == 0 {
				t.Errorf("%s: %s is no package", file, m[1])
			}
			for _, p := range found {
				if shown[p] {
					t.Errorf("%s: %s has two rows", file, p)
				}
				shown[p] = true
			}
			packages = append(packages, found...)
		}
		return fmt.Appendf(nil, "| %s |%s| %s |", cells[1], cells[2], importsOf(packages))
	})
	for p := range mayImport {
		if !shown[p] {
			t.Errorf("%s: %s has no row in the table of folders", file, p)
		}
	}
	if update {
		if err := os.WriteFile(file, fresh, 0o666); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(string(text), string(fresh)); diff != "" {
		t.Errorf("%s is not as mayImport; MSCCLC_UPDATE=1 go test . -run TestTableOfFolders writes it:\n%s", file, diff)
	}
}

// packagesOf returns the packages of mayImport whose paths match a pattern.
func packagesOf(pattern string) (list []string) {
	for p := range mayImport {
		if ok, _ := path.Match(pattern, p); ok {
			list = append(list, p)
		}
	}
	return list
}

// importsOf returns what packages may import beside each other, as a cell of the table.
func importsOf(packages []string) string {
	var names []string
	for _, p := range packages {
		for _, imp := range mayImport[p] {
			if imp == "*" {
				return "all"
			}
			if !slices.Contains(packages, imp) && !slices.Contains(everybodys, imp) {
				names = append(names, strings.TrimPrefix(imp, "mscclc/"))
			}
		}
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) == 0 {
		return "nothing"
	}
	return "`" + strings.Join(names, "`, `") + "`"
}

func TestBuildsWithoutCgo(t *testing.T) {
	for _, c := range []struct {
		env  []string
		args []string
	}{
		{[]string{"CGO_ENABLED=0"}, []string{"./..."}},
		{[]string{"CGO_ENABLED=0", "GOOS=js", "GOARCH=wasm"}, []string{"-trimpath", "-gcflags=all=-l", // as buildWasm
			".", "./lang", "./ir/...", "./passes/fifo", "./passes/core", "./passes/channels", "./codegen/..."}},
	} {
		cmd := exec.Command("go", append([]string{"build"}, c.args...)...)
		cmd.Env = append(cmd.Environ(), c.env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v go build %v: %v\n%s", c.env, c.args, err, out)
		}
	}
}

// Without cgo the command compiles and verifies, and says what it cannot do.
func TestRunWithoutCgo(t *testing.T) {
	cmd := exec.Command("go", "run", "./cmd/mscclc", "run", "allreduce/ring", "-p", "ranks=2")
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("needs cgo")) || !bytes.Contains(out, []byte("exit status 3")) {
		t.Errorf("run without cgo: %v\n%s", err, out)
	}
}

// A file that names a path of one machine is wrong on all others.
func TestNoMachinePaths(t *testing.T) {
	private := regexp.MustCompile(`(^|[^\w.])/(work|root|home|tmp)/\w`)
	n := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case path == ".git" && err == nil && !d.IsDir():
			return nil // in a worktree it is a file with the path of the repository
		case err != nil || d.IsDir():
			if d != nil && d.Name() == ".git" {
				return fs.SkipDir
			}
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || bytes.IndexByte(text, 0) >= 0 {
			return err
		}
		n++
		for i, line := range strings.Split(string(text), "\n") {
			if private.MatchString(line) {
				t.Errorf("%s:%d names a path of one machine: %s", path, i+1, line)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n < 50 {
		t.Errorf("looked into %d files; there are more", n)
	}
}
