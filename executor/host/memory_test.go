//go:build linux

package host

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"mscclc/executor"
)

func share(t *testing.T) executor.GPU {
	t.Helper()
	gpus, err := New(Options{}).GPUs()
	if err != nil {
		t.Fatal(err)
	}
	return gpus[0]
}

// TestMemory makes memory, reaches it again as another process would, and says what is wrong with addresses.
func TestMemory(t *testing.T) {
	g := share(t)
	a, err := g.Alloc(10000)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Poke(a+9996, []byte("last")); err != nil {
		t.Fatal(err)
	}
	h, err := g.Share(a+5000, 5000)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		other, err := g.Reach(h)
		if err != nil {
			t.Fatal(err)
		}
		m := reached.pieces[key(t, h)]
		if got := m.bytes[other-m.address+4996:][:4]; !bytes.Equal(got, []byte("last")) {
			t.Errorf("got %q", got)
		}
	}
	for i, want := range []int{1, 0} {
		if err := g.Leave(h); err != nil || len(reached.pieces) != want {
			t.Errorf("after %d times there are %d mappings: %v", i+1, len(reached.pieces), err)
		}
	}
	for what, err := range map[string]error{"too long": g.Owns(a, 10001), "elsewhere": g.Owns(16, 1),
		"a poke behind it": g.Poke(a+9999, make([]byte, 2)), "freed in the middle": g.Free(a + 1)} {
		if err == nil {
			t.Errorf("%s is fine", what)
		}
	}
	if err := g.Free(a); err != nil {
		t.Error(err)
	}
	if _, err := g.Reach(h); err == nil {
		t.Error("memory that is gone was reached")
	}
	if _, err := g.Alloc(1 << 45); err == nil || !strings.Contains(err.Error(), "out of memory") {
		t.Errorf("32 TiB: %v", err)
	}
}

func key(t *testing.T, text []byte) handle {
	t.Helper()
	var h handle
	if err := json.Unmarshal(text, &h); err != nil {
		t.Fatal(err)
	}
	h.Offset = 0
	return h
}

// TestStrangers refuses handles of other machines, of processes that are gone, and of descriptors that are other files.
func TestStrangers(t *testing.T) {
	g := share(t)
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open("memory_test.go")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	a, err := g.Alloc(4096)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Free(a)
	text, err := g.Share(a, 1)
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(h *handle){
		"on another machine":  func(h *handle) { h.Boot = "elsewhere" },
		"processes must be":   func(h *handle) { h.PID = gone.ProcessState.Pid() },
		"memory_test.go":      func(h *handle) { h.File = int(file.Fd()) },
		"is another file":     func(h *handle) { h.Inode++ },
		"is another file (pr": func(h *handle) { h.Bytes++ },
	} {
		h := key(t, text)
		change(&h)
		changed, err := json.Marshal(&h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.Reach(changed); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := g.Reach([]byte("{")); err == nil {
		t.Error("a handle that is none was reached")
	}
}
