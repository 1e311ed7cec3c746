//go:build linux

package shared

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestMemory makes memory, reaches it again as another process would, and says what is wrong with addresses.
func TestMemory(t *testing.T) {
	a, err := Alloc(10000)
	if err != nil {
		t.Fatal(err)
	}
	end, err := View(a+9996, 4)
	if err != nil {
		t.Fatal(err)
	}
	copy(end, "last")
	h, err := Share(a+5000, 5000)
	if err != nil {
		t.Fatal(err)
	}
	var called []string
	var whole []byte
	note := func(what string) func([]byte) error {
		return func(all []byte) error {
			called, whole = append(called, what), all
			return nil
		}
	}
	for range 2 {
		other, err := Reach(h, note("first"))
		if err != nil {
			t.Fatal(err)
		}
		if got := whole[other-addressOf(whole)+4996:][:4]; !bytes.Equal(got, []byte("last")) {
			t.Errorf("got %q", got)
		}
	}
	for i, want := range []int{1, 0} {
		if err := Leave(h, note("last")); err != nil || len(reached.pieces) != want {
			t.Errorf("after %d times there are %d mappings: %v", i+1, len(reached.pieces), err)
		}
	}
	view := func(address uint64, bytes int64) error {
		_, err := View(address, bytes)
		return err
	}
	if want := []string{"first", "last"}; !slices.Equal(called, want) {
		t.Errorf("was called %q", called)
	}
	for what, err := range map[string]error{"too long": view(a, 10001), "elsewhere": view(16, 1),
		"two bytes after it": view(a+9999, 2), "freed in the middle": Free(a + 1)} {
		if err == nil {
			t.Errorf("%s is fine", what)
		}
	}
	if err := Free(a); err != nil {
		t.Error(err)
	}
	if _, err := Reach(h, nil); err == nil {
		t.Error("memory that is gone was reached")
	}
	if _, err := Alloc(1 << 45); err == nil || !strings.Contains(err.Error(), "out of memory") {
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
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open("memory_test.go")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	a, err := Alloc(4096)
	if err != nil {
		t.Fatal(err)
	}
	defer Free(a)
	text, err := Share(a, 1)
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
		if _, err := Reach(changed, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := Reach([]byte("{"), nil); err == nil {
		t.Error("a handle that is none was reached")
	}
}
