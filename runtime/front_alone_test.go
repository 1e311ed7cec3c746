package runtime_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	library "mscclc/runtime"
)

// TestFrontArguments: without NCCL, arguments that are null, or no communicator, are errors.
func TestFrontArguments(t *testing.T) {
	s := site{how: "alone", ranks: 1, bundle: wholeBundle(t, 2)}
	s.do(t, "init 0", "nulls 0", "destroy 0").well(t)
}

// TestFrontStrangers: without NCCL, ranks that do not fit together all have an error.
func TestFrontStrangers(t *testing.T) {
	for _, c := range []struct {
		name  string
		ranks [2]string // as each process has them: its rank, the number of ranks
	}{
		{"the same rank", [2]string{"0 2", "0 2"}},
		{"another number", [2]string{"0 2", "1 3"}},
		{"too many", [2]string{"0 17", "1 17"}},
		{"out of range", [2]string{"0 2", "2 2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := site{how: "alone", ranks: 2, bundle: wholeBundle(t, 2)}
			s.do(t, "@0 as "+c.ranks[0], "@1 as "+c.ranks[1]).well(t)
		})
	}
}

// TestFrontPart: calls pass through to an NCCL that has few functions, and a warning names those that programs need.
func TestFrontPart(t *testing.T) {
	dir := t.TempDir()
	source, part := filepath.Join(dir, "part.cc"), filepath.Join(dir, "libnccl.so.2")
	text := `extern "C" int ncclGetVersion(int *v) { return *v = 7, 0; }
extern "C" int ncclAllReduce(const void *, void *, unsigned long, int, int, void *, void *) { return 6; }
extern "C" int ncclCommInitRank() { return 0; }`
	user := filepath.Join(dir, "user.cc")
	calls := `#include <dlfcn.h>
typedef int Call(...);
int main() {
  Call *f = (Call *)dlsym(RTLD_DEFAULT, "ncclAllReduce"), *g = (Call *)dlsym(RTLD_DEFAULT, "ncclGroupStart");
  return f(0, 0, 8ul, 7, 0, 0, 0) == 6 && g() == 5 ? 0 : 1;
}
extern "C" int ncclGetVersion(int *);
int version() { int v; return ncclGetVersion(&v); }`
	for file, text := range map[string]string{source: text, user: calls} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := library.Link(part, []string{source}, "-shared", "-fPIC", "-Wl,-soname,libnccl.so.2"); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "user")
	if err := library.Link(program, []string{user, part}); err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"preload", "forward"} {
		s := site{how: how, ranks: 1, program: program, bundle: wholeBundle(t, 2), env: []string{"MSCCLC_NCCL=" + part}}
		if how == "preload" {
			s.env = []string{"LD_LIBRARY_PATH=" + dir}
		}
		r := s.do(t).well(t)
		want := "programs need functions that this NCCL does not have: ncclGroupStart, ncclGroupEnd, ncclAllGather, "
		if strings.Count(r.output, want) != 1 {
			t.Errorf("%s: the output is\n%s", how, r.output)
		}
	}
}
