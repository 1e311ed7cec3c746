package runtime

import (
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"mscclc/executor/fibers"
	"mscclc/executor/gpu"
	"mscclc/kernels"
	"mscclc/transport"
)

// Sources are the files of the library, in folder src.
//
//go:embed src/*.cc src/*.h src/*/*.cc src/*/*.h include/mscclc.h
var Sources embed.FS

// The files that Build makes in its folder. The preload library has the functions of NCCL that it does itself, and
// stands before NCCL in the process. The other is a whole libnccl.so.2, for programs that open NCCL by its name.
const (
	PreloadLibrary = "libmscclc-preload.so"
	NCCLLibrary    = "nccl/libnccl.so.2"
)

// CLibrary is the library of Header, which BuildC makes in its folder.
const (
	CLibrary = "libmscclc.so"
	Header   = "include/mscclc.h"
)

// engine are the folders of the engine; "." is src itself. interfaceC are those of the interface in C, whose fibers is
// executor/fibers. All others are of NCCL's interface.
var (
	engine     = []string{".", "bundle", "device", "launch", "team", "net", "transport"}
	interfaceC = []string{"c", "host", "fibers"}
)

// forwards is the flag of what differs in NCCLLibrary, forwardsMore that of one that hands on more functions than it
// knows, and differs are its units.
const forwards, forwardsMore = "-DMSCCLC_FORWARDS", "-DMSCCLC_MORE"

var differs = []string{"front/find.cc", "front/stubs.cc"}

// flags are the compiler's for all units. Warnings are the business of tests: each g++ has others. Without errno, a
// square root is an instruction: the libraries are not linked with libm.
var flags = []string{"-O2", "-fPIC", "-fvisibility=hidden", "-DGPU_GUEST", "-fno-math-errno"}

// cppFlags are those for C++.
var cppFlags = []string{"-std=c++17", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics"}

// linkFlags link a library that needs the C library only.
var linkFlags = []string{"-shared", "-nodefaultlibs", "-Wl,--as-needed", "-Wl,-z,defs", "-Wl,-z,now", "-Wl,-z,nodelete",
	"-Wl,--hash-style=gnu"}

// systemLibraries are what a library is linked with.
var systemLibraries = []string{"-lpthread", "-ldl", "-lc", "-lgcc"}

// Build writes the sources to folder dir, and compiles and links the libraries there. More are functions that
// NCCLLibrary hands on beside those that it knows. Build fails if there is no g++, or if it finds an error; the error
// holds what g++ says. CXX names another compiler.
func Build(dir string, more ...string) error {
	if _, err := exec.LookPath(compiler()[0]); err != nil {
		return missing()
	}
	tree := filepath.Join(dir, "sources")
	if err := Write(tree); err != nil {
		return err
	}
	objects, err := Compile(tree, filepath.Join(dir, "objects"), IsFront)
	if err != nil {
		return err
	}
	if err := link(dir, PreloadLibrary, objects); err != nil {
		return err
	}
	objects, err = Forwards(tree, filepath.Join(dir, "forwards"), objects, more)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(NCCLLibrary)), 0o700); err != nil {
		return err
	}
	return link(dir, NCCLLibrary, objects, "-Wl,-soname,"+filepath.Base(NCCLLibrary))
}

// link links a library of folder dir, with a build ID that says of which sources.
func link(dir, name string, objects []string, more ...string) error {
	id, err := buildID(name)
	if err != nil {
		return err
	}
	return Link(filepath.Join(dir, name), objects, slices.Concat(linkFlags, more, []string{"-Wl,--build-id=0x" + id})...)
}

// BuildC is Build for CLibrary. It also writes Header there.
func BuildC(dir string) error {
	tree := filepath.Join(dir, "sources")
	if err := Write(tree); err != nil {
		return err
	}
	objects, err := Compile(tree, filepath.Join(dir, "cobjects"), IsC)
	if err != nil {
		return err
	}
	return LinkC(dir, objects)
}

// LinkC links CLibrary in folder dir of objects, and writes Header there.
func LinkC(dir string, objects []string) error {
	text, err := Sources.ReadFile(Header)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(Header)), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, Header), text, 0o600); err != nil {
		return err
	}
	return link(dir, CLibrary, objects, "-Wl,-soname,"+CLibrary)
}

// Forwards returns the objects of NCCLLibrary, where objects are those of PreloadLibrary. It compiles the units that
// differ, from folder tree to folder `to`. More are functions that it hands on beside those that it knows, and add are
// flags beside the usual.
func Forwards(tree, to string, objects, more []string, add ...string) ([]string, error) {
	differ := func(name string) bool { return slices.Contains(differs, name) }
	with := append(add, forwards)
	if len(more) > 0 {
		text := "#define NAMES_MORE(X) X(" + strings.Join(more, ") X(") + ")\n"
		if err := os.WriteFile(filepath.Join(tree, "runtime", "src", "front", "more.h"), []byte(text), 0o600); err != nil {
			return nil, err
		}
		with = append(with, forwardsMore)
	}
	again, err := Compile(tree, to, differ, with...)
	if err != nil {
		return nil, err
	}
	all := slices.Clone(objects)
	for i, o := range all {
		for _, n := range again {
			if filepath.Base(o) == filepath.Base(n) {
				all[i] = n
			}
		}
	}
	return all, nil
}

// IsEngine reports whether a file of folder src, or of transport, is a unit of the engine, and not of the interface of
// NCCL or of that in C. IsFront reports whether it is a unit of the libraries of Build, and IsC whether of CLibrary.
func IsEngine(name string) bool { return slices.Contains(engine, path.Dir(name)) }

// IsFront is described at IsEngine.
func IsFront(name string) bool { return !slices.Contains(interfaceC, path.Dir(name)) }

// IsC is described at IsEngine.
func IsC(name string) bool { return IsEngine(name) || !IsFront(name) }

// Write writes all sources to a folder, in folders as they include each other.
func Write(dir string) error {
	for _, from := range []struct {
		at    string
		files fs.FS
	}{{"runtime", Sources}, {"kernels", kernels.Sources}, {"executor/gpu", gpu.Sources},
		{"executor/fibers", fibers.Sources}, {"transport", transport.Sources}} {
		err := fs.WalkDir(from.files, ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := fs.ReadFile(from.files, name)
			if err != nil {
				return err
			}
			to := filepath.Join(dir, filepath.FromSlash(path.Join(from.at, name)))
			if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
				return err
			}
			return os.WriteFile(to, text, 0o600)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Compile compiles the units in a folder that Write made: the driver, and the files that has returns true for. It is
// given their names: those of runtime/src as they lie there, those of transport and fibers with that folder. It returns
// the object files, which it writes to folder `to`. More are flags beside the usual.
func Compile(tree, to string, has func(name string) bool, more ...string) ([]string, error) {
	units := []string{filepath.Join(tree, "executor", "gpu", "driver.c")}
	for _, from := range [][2]string{{"runtime/src", "*.cc"}, {"runtime/src", "*/*.cc"}, {"executor", "fibers/*.cc"},
		{".", "transport/*.cc"}} {
		root := filepath.Join(tree, filepath.FromSlash(from[0]))
		found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(from[1])))
		if err != nil {
			return nil, err
		}
		for _, unit := range found {
			if name, _ := filepath.Rel(root, unit); has(filepath.ToSlash(name)) {
				units = append(units, unit)
			}
		}
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return nil, err
	}
	objects := make([]string, len(units))
	var g errgroup.Group
	g.SetLimit(runtime.NumCPU())
	for i, unit := range units {
		objects[i] = filepath.Join(to, objectOf(tree, unit))
		g.Go(func() error { return compile(unit, objects[i], more) })
	}
	return objects, g.Wait()
}

// objectOf names the object of a unit, with its folder below runtime/src: several folders have a hub.cc.
func objectOf(tree, unit string) string {
	name, _ := filepath.Rel(tree, unit)
	name = filepath.ToSlash(name)
	for _, folder := range []string{"runtime/src/", "transport/", "executor/"} {
		name = strings.TrimPrefix(name, folder)
	}
	return strings.ReplaceAll(name, "/", "_") + ".o"
}

// compile compiles a unit.
func compile(unit, object string, more []string) error {
	args := append(append([]string{}, flags...), more...)
	if filepath.Base(filepath.Dir(unit)) == "fibers" {
		args = append(args, "-DHOST_SIGNALS")
	}
	if strings.HasSuffix(unit, ".c") {
		args = append(args, "-x", "c")
	} else {
		hash := kernels.Hash()
		args = append(append(args, cppFlags...), `-DMSCCLC_KERNELS="`+hex.EncodeToString(hash[:])+`"`)
	}
	return run(append(args, "-c", unit, "-o", object)...)
}

// Link links objects to a file.
func Link(file string, objects []string, more ...string) error {
	args := append(append([]string{}, more...), "-o", file)
	return run(append(append(args, objects...), systemLibraries...)...)
}

// compiler returns the compiler and the flags that CXX has beside its name, such as --sysroot.
func compiler() []string {
	if words := strings.Fields(os.Getenv("CXX")); len(words) > 0 {
		return words
	}
	return []string{"g++"}
}

// missing is the error of a machine without the compiler.
func missing() error {
	return fmt.Errorf("there is no %s, which builds it once: %w", compiler()[0], ErrNoCompiler)
}

// run runs the compiler.
func run(args ...string) error {
	words := compiler()
	if out, err := exec.Command(words[0], append(words[1:], args...)...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", words[0], err, out)
	}
	return nil
}
