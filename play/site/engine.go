package site

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"mscclc/internal/usercache"
)

// The files of the engine: the module, after gzip, and the support of the Go that built it.
const (
	Module      = "mscclc.wasm.gz"
	Support     = "wasm_exec.js"
	versionFile = "version"
)

// mostModule bounds the files of an engine, in bytes.
const mostModule = 64 << 20

// ErrOther is the error of an engine that was installed with another version of the command. ErrNoEngine is the error
// where there is none and nothing to build it of.
var (
	ErrOther    = errors.New("the engine is of another version")
	ErrNoEngine = errors.New("there is no engine, and no clone to build it from")
)

// Installed returns the folder of the engine that was installed with a program: share/mscclc/page beside its folder
// bin. It is "" where there is none. The error is ErrOther where that is of another version.
func Installed(program, version string) (dir string, err error) {
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		return "", nil
	}
	dir = filepath.Join(filepath.Dir(filepath.Dir(real)), "share", "mscclc", "page")
	is, err := os.ReadFile(filepath.Join(dir, versionFile))
	if err != nil {
		return "", nil
	}
	if strings.TrimSpace(string(is)) != version {
		return dir, ErrOther
	}
	return dir, nil
}

// ReadEngine returns the files of an engine in a folder, by their names.
func ReadEngine(dir string) (map[string][]byte, error) {
	all := map[string][]byte{}
	for _, name := range []string{Module, Support} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		all[name] = text
	}
	return all, nil
}

// Clone returns the folder of the clone that this program was built in, or "".
func Clone() string {
	_, file, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(file) { // of a build with -trimpath
		return ""
	}
	root := filepath.Dir(filepath.Dir(filepath.Dir(file)))
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil || !bytes.HasPrefix(text, []byte("module mscclc\n")) {
		return ""
	}
	return root
}

// BuildEngine builds the engine of a clone with the Go tool, and returns its files by their names. The module after
// gzip is kept in the user's cache, where there is one.
func BuildEngine(clone string) (map[string][]byte, error) {
	dir, err := os.MkdirTemp("", "mscclc-page")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "engine.wasm")
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-gcflags=all=-l", "-ldflags=-s -w -buildid=",
		"-o", file, "./lsp/wasm")
	cmd.Dir = clone
	cmd.Env = append(cmd.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build ./lsp/wasm: %v\n%s", err, out)
	}
	wasm, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	env := exec.Command("go", "env", "GOROOT")
	env.Dir = clone
	root, err := env.Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOROOT: %v", err)
	}
	support, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", Support))
	if err != nil {
		return nil, err
	}
	module, err := packed(wasm)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{Module: module, Support: support}, nil
}

// keptModules is how many modules the cache has.
const keptModules = 8

// packed returns a module after gzip -9, which takes seconds: from the cache if it is there.
func packed(wasm []byte) ([]byte, error) {
	name := usercache.Name(sha256.Sum256(wasm))
	cache, err := usercache.Open("page")
	if err != nil { // it is off, or cannot be used
		return compressed(wasm)
	}
	defer cache.Close()
	if module, err := cache.Read(name, mostModule); err == nil {
		cache.Used(name)
		return module, nil
	}
	module, err := compressed(wasm)
	if err != nil {
		return nil, err
	}
	if cache.Write(name, module) == nil { // else it is made again the next time
		cache.Prune(keptModules)
	}
	return module, nil
}

func compressed(wasm []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(wasm); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// WriteEngine writes files of an engine to a folder, with the version of the command that they are for.
func WriteEngine(dir, version string, engine map[string][]byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, text := range engine {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, versionFile), []byte(version+"\n"), 0o644)
}
