package mscclc_test

import (
	"bytes"
	"compress/gzip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// enginePackages are what compiles, proves and simulates: editors and browsers run it as WebAssembly.
var enginePackages = []string{"mscclc", "mscclc/lang/syntax", "mscclc/ir/verify", "mscclc/simulate", "mscclc/topology",
	"mscclc/algorithms", "mscclc/lsp/wasm"}

// engineMay are the packages outside of the standard library that these may link.
var engineMay = []string{"mscclc", "mscclc/algorithms", "mscclc/codegen", "mscclc/codegen/msccl", "mscclc/codegen/mscclpp",
	"mscclc/codegen/mscclpp/lower", "mscclc/codegen/program", "mscclc/executor/data", "mscclc/executor/launch",
	"mscclc/files", "mscclc/internal/heap", "mscclc/internal/maxflow", "mscclc/internal/strictjson", "mscclc/ir", "mscclc/ir/diag",
	"mscclc/ir/either", "mscclc/ir/epilogue",
	"mscclc/ir/eval",
	"mscclc/ir/fifo", "mscclc/ir/form", "mscclc/ir/onesided", "mscclc/ir/placement", "mscclc/ir/property", "mscclc/ir/text", "mscclc/ir/vclock", "mscclc/ir/verify",
	"mscclc/ir/verify/checker", "mscclc/ir/verify/onesided", "mscclc/lang",
	"mscclc/lang/arithmetic", "mscclc/lang/internal/channels", "mscclc/lang/syntax", "mscclc/lsp", "mscclc/lsp/wasm", "mscclc/passes/channels",
	"mscclc/passes/core", "mscclc/passes/fifo",
	"mscclc/passes/lift", "mscclc/passes/slots", "mscclc/play", "mscclc/simulate",
	"mscclc/simulate/devices", "mscclc/simulate/internal/events", "mscclc/simulate/internal/launches",
	"mscclc/simulate/internal/network", "mscclc/simulate/internal/onesided", "mscclc/simulate/internal/twosided",
	"mscclc/topology", "mscclc/topology/bound",
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

// mostWasm bounds the language server with all that it links, as WebAssembly, after gzip -9. The goal is 2.4 MB. Scenes
// of the page take 0.14 MB, bounds of topologies with math/big 0.12 MB, and epilogues 6 KB.
const mostWasm = 3_140_000

// buildWasm builds lsp/wasm to a file, and returns its name.
func buildWasm(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "engine.wasm")
	cmd := exec.Command("go", "build", "-trimpath", "-gcflags=all=-l", "-ldflags=-s -w", "-o", file, "./lsp/wasm")
	cmd.Env = append(cmd.Environ(), "GOOS=js", "GOARCH=wasm")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return file
}

// TestEngineSize measures what a browser loads.
func TestEngineSize(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds for WebAssembly")
	}
	wasm, err := os.ReadFile(buildWasm(t))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(wasm); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes, %d after gzip", len(wasm), b.Len())
	if b.Len() > mostWasm {
		t.Errorf("the engine has %d bytes after gzip, more than %d", b.Len(), mostWasm)
	}
}

// TestEngineRuns proves a program in WebAssembly, by Node.
func TestEngineRuns(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil || testing.Short() {
		t.Skip("there is no Node to run WebAssembly")
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	support := filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec.js")
	cmd := exec.Command(node, filepath.Join("lsp", "testdata", "engine.js"), support, buildWasm(t))
	out, err := cmd.CombinedOutput()
	if want := "8 ranks, proven, "; err != nil || !strings.Contains(string(out), want) {
		t.Errorf("%v\n%s\nlacks %s", err, out, want)
	}
}
