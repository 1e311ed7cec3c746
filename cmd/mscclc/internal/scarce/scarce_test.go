package scarce

import (
	"errors"
	"strings"
	"testing"

	"mscclc/ir/diag"
)

// TestTalk writes the same words in pieces of all lengths: what a command says is handed on, and what Go's runtime says
// of its death is kept.
func TestTalk(t *testing.T) {
	for _, c := range []struct{ says, to, died string }{
		{"a\nb", "a\nb", ""},
		{"fatal", "fatal", ""},
		{"no fatal error: x\nrun\n", "no fatal error: x\nrun\n", ""},
		{"a\nfatal error: out of memory\ngoroutine 1\n", "a\n", "fatal error: out of memory\ngoroutine 1\n"},
		{"runtime: out of memory: cannot\nb", "", "runtime: out of memory: cannot\nb"},
		{"runtimes are long\nruntime: o\nf", "runtimes are long\nruntime: o\nf", ""},
		{"50 %\r60 %\nfatal error: x", "50 %\r60 %\n", "fatal error: x"},
	} {
		for n := 1; n <= len(c.says); n++ {
			var to strings.Builder
			talk := &talk{to: &to}
			for i := 0; i < len(c.says); i += n {
				piece := c.says[i:min(i+n, len(c.says))]
				if wrote, err := talk.Write([]byte(piece)); wrote != len(piece) || err != nil {
					t.Fatal(wrote, err)
				}
			}
			talk.end()
			if to.String() != c.to || talk.died.String() != c.died {
				t.Errorf("%q by %d: %q, and it died of %q", c.says, n, to.String(), talk.died.String())
			}
		}
	}
}

// TestTalkIsPrompt: what is no line of dying is handed on at once, though its line has not ended.
func TestTalkIsPrompt(t *testing.T) {
	var to strings.Builder
	talk := &talk{to: &to}
	for _, piece := range []string{"50 %", "\r60 %"} {
		talk.Write([]byte(piece))
		if !strings.HasSuffix(to.String(), piece) {
			t.Errorf("%q is held back", piece)
		}
	}
	long := strings.Repeat("x", 3*mostDied)
	talk.Write([]byte("\nfatal error: " + long))
	talk.Write([]byte(long))
	if talk.died.Len() != mostDied {
		t.Errorf("%d bytes are kept", talk.died.Len())
	}
}

// TestFailure: only want of something is an error of its own.
func TestFailure(t *testing.T) {
	for died, want := range map[string]string{
		"":                                       "",
		"fatal error: all goroutines are asleep": "",
		"fatal error: out of memory":             "mscclc got no more memory (a bound)",
		"runtime: cannot allocate memory":        "mscclc got no more memory (a bound)",
		"fatal error: failed to reserve page summary memory": "mscclc got no more memory (a bound)",
		crashed + "segmentation fault\n": "mscclc ended by a segmentation fault, " +
			"perhaps since it got no more memory (a bound)",
		"fatal error: newosproc": "mscclc got no more room for a thread (a bound)",
	} {
		err := failure(died, "a bound")
		var list diag.List
		if got := err != nil; got != (want != "") || got && (!errors.As(err, &list) || list[0].Text != want) {
			t.Errorf("%q: %v", died, err)
		}
	}
}
