package mscclc_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// enginePackages are what compiles, proves and simulates: editors and browsers run it as WebAssembly.
var enginePackages = []string{"mscclc", "mscclc/lang/syntax", "mscclc/ir/verify", "mscclc/simulate", "mscclc/topology",
	"mscclc/algorithms"}

// engineMay are the packages outside of the standard library that these may link.
var engineMay = []string{"mscclc", "mscclc/algorithms", "mscclc/codegen", "mscclc/codegen/msccl", "mscclc/codegen/mscclpp",
	"mscclc/codegen/mscclpp/lower", "mscclc/codegen/program", "mscclc/executor/data", "mscclc/executor/launch",
	"mscclc/files", "mscclc/internal/strictjson", "mscclc/ir", "mscclc/ir/diag", "mscclc/ir/eval", "mscclc/ir/form",
	"mscclc/ir/placement", "mscclc/ir/property", "mscclc/ir/text", "mscclc/ir/vclock", "mscclc/ir/verify", "mscclc/lang",
	"mscclc/lang/arithmetic", "mscclc/lang/syntax", "mscclc/passes/channels", "mscclc/passes/core", "mscclc/passes/fifo",
	"mscclc/passes/lift", "mscclc/passes/slots", "mscclc/simulate", "mscclc/topology",
	"github.com/alecthomas/participle/v2", "github.com/alecthomas/participle/v2/lexer"}

// engineLacks are packages of the standard library, with those below them, that the engine must not link.
var engineLacks = []string{"net", "crypto", "encoding/xml", "text/template", "html", "os/exec", "plugin", "compress"}

// TestEngineImports lists what the engine links in WebAssembly.
func TestEngineImports(t *testing.T) {
	checkEngine(t, engineMay, enginePackages...)
}

// checkEngine fails where packages link more than may, or what the engine lacks.
func checkEngine(t *testing.T, may []string, packages ...string) {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-deps"}, packages...)...)
	cmd.Env = append(cmd.Environ(), "GOOS=js", "GOARCH=wasm")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := strings.Fields(string(out))
	for _, p := range may {
		if !slices.Contains(seen, p) {
			t.Errorf("%s is not linked; it needs no entry", p)
		}
	}
	for _, p := range seen {
		first, _, _ := strings.Cut(p, "/")
		if ours := first == "mscclc" || strings.Contains(first, "."); ours && !slices.Contains(may, p) {
			t.Errorf("the engine must not link %s", p)
		}
		for _, lack := range engineLacks {
			if p == lack || strings.HasPrefix(p, lack+"/") {
				t.Errorf("the engine must not link %s", p)
			}
		}
	}
}
