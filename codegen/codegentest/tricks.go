package codegentest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"mscclc/ir/diag"
)

// Tricks make files of about n bytes that a careless reader hangs on, or
// spends memory on beyond the file's size.
type Tricks = []struct {
	Name string
	Make func(n int) []byte
	Want string // is in the error; "" for a file that is read
}

// JudgeTricks reads each file at two sizes, the second eight times the first.
// What is allocated, all that is freed again included, is at most perByte for
// each byte of the file and grows as the file does; times are logged, since
// machines differ. MSCCLC_HOSTILE=N makes files of N MB.
func JudgeTricks(t *testing.T, perByte int, list Tricks, read func(b []byte) error) {
	size := 2 << 20
	if s := os.Getenv("MSCCLC_HOSTILE"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		size = n << 20
	}
	for _, x := range list {
		small, took, err := measured(t, x.Make(size/8), read)
		judge(t, x.Name, x.Want, err)
		file := x.Make(size)
		large, tookLarge, err := measured(t, file, read)
		judge(t, x.Name, x.Want, err)
		t.Logf("%-30s %9d bytes: %6.1f bytes and %6.1f ns a byte; at an eighth %6.1f and %6.1f", x.Name, len(file),
			float64(large)/float64(len(file)), float64(tookLarge.Nanoseconds())/float64(len(file)),
			8*float64(small)/float64(len(file)), 8*float64(took.Nanoseconds())/float64(len(file)))
		if most := uint64(perByte*len(file) + 1<<20); large > most {
			t.Errorf("%s: %d bytes make the reader allocate %d, more than %d", x.Name, len(file), large, most)
		}
		if large > 12*small+4<<20 {
			t.Errorf("%s: an eightfold file makes the reader allocate %d for %d", x.Name, large, small)
		}
	}
}

// judge compares err with the error that is wanted.
func judge(t *testing.T, name, want string, err error) {
	t.Helper()
	var list diag.List
	switch {
	case err == nil && want != "":
		t.Errorf("%s: was read, want %q", name, want)
	case err != nil && (!errors.As(err, &list) || want == ""):
		t.Errorf("%s: %v", name, err)
	case err != nil && !slices.ContainsFunc(list, func(d diag.Diagnostic) bool { return strings.Contains(d.Text, want) }):
		t.Errorf("%s: %v, want %q", name, err, want)
	case len(list) > diag.Shown:
		t.Errorf("%s: %d errors", name, len(list))
	}
}

func measured(t *testing.T, file []byte, read func(b []byte) error) (allocated uint64, took time.Duration, err error) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := time.Now()
	err = read(file)
	took = time.Since(start)
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc, took, err
}

// Repeated is head, part over and over up to about n bytes, and tail.
func Repeated(head, part, tail string) func(n int) []byte {
	return func(n int) []byte {
		b := bytes.NewBufferString(head)
		for b.Len() < n {
			b.WriteString(part)
		}
		b.WriteString(tail)
		return b.Bytes()
	}
}

// Numbered is repeated, with %[1]d in part counting from 0, %[2]d one more and
// %[3]d one less.
func Numbered(head, part, tail string) func(n int) []byte {
	return func(n int) []byte {
		b := bytes.NewBufferString(head)
		for i := 0; b.Len() < n; i++ {
			fmt.Fprintf(b, part, i, i+1, i-1)
		}
		b.WriteString(tail)
		return b.Bytes()
	}
}
