package processes

import (
	"fmt"
	"strings"
	"testing"
)

// TestLines holds that lines of several processes that are alike are printed once, and all others as they are.
func TestLines(t *testing.T) {
	var printed strings.Builder
	all := &printer{to: &printed, said: map[string]int{}}
	var list []*speaker
	for i := range 3 {
		list = append(list, &speaker{printer: all, process: i})
	}
	fmt.Fprint(list[1], "error: no such")
	fmt.Fprint(list[0], "a bar\na bar\n")
	fmt.Fprint(list[2], "error: no such file\nonly 2\n")
	fmt.Fprint(list[1], " file\nonly 1")
	fmt.Fprint(list[0], "error: no such file\n")
	for _, s := range list {
		s.end()
	}
	if want := "a bar\na bar\nerror: no such file\nonly 2\nonly 1\n"; printed.String() != want {
		t.Errorf("printed %q", printed.String())
	}
}

// TestHeld: errors wait for release, and what Go's runtime writes of a crash is kept.
func TestHeld(t *testing.T) {
	var printed strings.Builder
	all := &printer{to: &printed, said: map[string]int{}}
	failed, crashed := &speaker{printer: all, hold: true}, &speaker{printer: all, process: 1, hold: true}
	fmt.Fprint(failed, "note: a\nerror: process 1 has gone\n  hint: look there\n")
	fmt.Fprint(crashed, "note: b\nSIGSEGV: segmentation violation\nPC=0 m=7\n\ngoroutine 4 [syscall]:\n",
		"mscclc/executor/nccl._Cfunc_mscclc_nccl_call(1)\n\ngoroutine 1 [select]:\nmain.main()\n")
	failed.end()
	crashed.end()
	if printed.String() != "note: a\nnote: b\n" {
		t.Errorf("printed %q", printed.String())
	}
	if who := culprit(crashed.died.String()); who != "NCCL" {
		t.Errorf("it crashed in %s", who)
	}
	for text, want := range map[string]string{
		"panic: x\n\ngoroutine 7 [running]:\nmain.main()\n\ngoroutine 8:\nmscclc/executor/nccl._Cfunc_a(1)\n": "mscclc",
		"SIGBUS: x\n\ngoroutine 7 [syscall]:\nmscclc/executor/gpu._Cfunc_a(1)\n":                              "the driver of the GPUs",
	} {
		if who := culprit(text); who != want {
			t.Errorf("%q crashed in %s", text, who)
		}
	}
	failed.release()
	if !strings.HasSuffix(printed.String(), "error: process 1 has gone\n  hint: look there\n") {
		t.Errorf("printed %q", printed.String())
	}
}

// TestHush: when a signal ends the processes, what one says of the end of another is not passed on.
func TestHush(t *testing.T) {
	var out strings.Builder
	s := &speaker{printer: &printer{to: &out, said: map[string]int{}}}
	s.Write([]byte("begins\n"))
	s.hush()
	s.Write([]byte("process 0 is gone\n"))
	s.end()
	if out.String() != "begins\n" {
		t.Errorf("%q", out.String())
	}
}
