package runtime_test

import (
	"encoding/binary"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mscclc/internal/covering"
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

// TestFrontPart: calls pass through to an NCCL that has few functions, and a warning names those that programs need. A
// sum of nobody knows how many ranks is refused where its bits may not depend on its size.
func TestFrontPart(t *testing.T) {
	dir := t.TempDir()
	source, part := filepath.Join(dir, "part.cc"), filepath.Join(dir, "libnccl.so.2")
	text := `extern "C" int ncclGetVersion(int *v) { return *v = 7, 0; }
extern "C" int ncclAllReduce(const void *, void *, unsigned long, int, int, void *, void *) { return 6; }
extern "C" int ncclCommInitRank() { return 0; }`
	user := filepath.Join(dir, "user.cc")
	calls := `#include <dlfcn.h>
#include <stdlib.h>
typedef int Call(...);
int main() {
  Call *f = (Call *)dlsym(RTLD_DEFAULT, "ncclAllReduce"), *g = (Call *)dlsym(RTLD_DEFAULT, "ncclGroupStart");
  return f(0, 0, 8ul, 7, 0, 0, 0) == atoi(getenv("GIVES")) && g() == 5 ? 0 : 1;
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
	for k := range 4 {
		how := []string{"preload", "forward"}[k%2]
		s := site{how: how, ranks: 1, program: program, bundle: wholeBundle(t, 2), env: []string{"MSCCLC_NCCL=" + part}}
		if how == "preload" {
			s.env = []string{"LD_LIBRARY_PATH=" + dir}
		}
		s.env = append(s.env, [][]string{{"GIVES=6"}, {"GIVES=5", wantsBits}}[k/2]...)
		r := s.do(t).well(t)
		want := "programs need functions that this NCCL does not have: ncclGroupStart, ncclGroupEnd, ncclAllGather, "
		if strings.Count(r.output, want) != 1 {
			t.Errorf("%s: the output is\n%s", how, r.output)
		}
	}
}

// hereOf returns what a rank says first to a hub, and where the hub listens, by the file of an ncclUniqueId.
func hereOf(t *testing.T, file string, rank, ranks uint32) (here []byte, at string) {
	t.Helper()
	at = tailOf(t, file)
	id, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	header, err := os.ReadFile("src/consensus/meeting.h")
	if err != nil {
		t.Fatal(err)
	}
	version, err := strconv.Atoi(regexp.MustCompile(`define MSCCLC_MEETING_VERSION (\d+)`).FindStringSubmatch(string(header))[1])
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []uint32{0x4843534d, uint32(version), 1, 24} {
		here = binary.LittleEndian.AppendUint32(here, x)
	}
	here = append(here, id[64+28:64+44]...) // the secret
	return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(here, rank), ranks), at
}

// TestFrontHearsRefusal: ranks refuse each other, and the process that hosts their meeting exits. Each connection that
// it has taken hears the word, also one that says only then who it is.
func TestFrontHearsRefusal(t *testing.T) {
	dir := t.TempDir()
	s := site{how: "alone", ranks: 1, bundle: wholeBundle(t, 2), env: []string{"WORLD=2", "MSCCLC_FAKE_DIR=" + dir}}
	var wait sync.WaitGroup
	var received atomic.Int32
	for range 3 {
		wait.Go(func() {
			here, at := hereOf(t, filepath.Join(dir, "id-0"), 1, 3)
			for {
				c, err := net.Dial("tcp", at)
				if err != nil {
					return // the process has ended
				}
				time.Sleep(20 * time.Millisecond)
				c.SetDeadline(time.Now().Add(covering.Patience(5 * time.Second)))
				if _, err = c.Write(here); err == nil {
					_, err = io.ReadFull(c, make([]byte, 32))
				}
				if c.Close(); err != nil {
					if next, gone := net.Dial("tcp", at); gone == nil { // else it ended before it took this one
						next.Close()
						t.Error(err)
					}
					return
				}
				received.Add(1)
			}
		})
	}
	r := s.do(t, "try 0").well(t)
	wait.Wait()
	if !strings.Contains(r.output, "ncclCommInitRank gives 4") || received.Load() == 0 {
		t.Errorf("%d connections received the word\n%s", received.Load(), r.output)
	}
}
