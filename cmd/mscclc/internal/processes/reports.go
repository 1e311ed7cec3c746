package processes

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"sync"

	"mscclc/cmd/mscclc/internal/cli"
)

// This file is what a process and the one that started it have between them: two pipes. One ends with the parent. The
// other takes reports to it.

// EnvParent is set for processes that a Team started. They have the pipes, as the files after stderr, in this order.
const EnvParent = "MSCCLC_PARENT"

const (
	watchFile = iota
	reportFile
)

// firstFile is the number of the first file after stderr.
const firstFile = 3

// A Report is what a process says of its work to the one that started it.
type Report struct {
	Task        string // what it works at, by a name
	At          string // the same for users, more closely
	Done, Total int    // steps of its work
}

var reports struct {
	sync.Mutex
	to *os.File
}

// Follow ends this process as soon as the one that started it is gone. EnvParent must be set.
func Follow() {
	os.Unsetenv(EnvParent) // processes that this one starts do not have the pipes
	for fd := firstFile; fd <= firstFile+reportFile; fd++ {
		if !takePipe(fd) {
			return // somebody else has set the variable
		}
	}
	reports.to = os.NewFile(firstFile+reportFile, "reports")
	watch := os.NewFile(firstFile+watchFile, "parent")
	go func() {
		io.Copy(io.Discard, watch)
		cli.Abandon()
	}()
}

// Send sends r to the process that started this one, if it is of a Team.
func Send(r Report) {
	reports.Lock()
	defer reports.Unlock()
	if reports.to == nil {
		return
	}
	if line, err := json.Marshal(r); err == nil {
		reports.to.Write(append(line, '\n')) // where it fails, the parent is gone
	}
}

// receive takes the reports of process i until its end.
func (t *Team) receive(i int, from io.Reader) {
	in := json.NewDecoder(bufio.NewReader(from))
	for {
		var r Report
		if in.Decode(&r) != nil {
			io.Copy(io.Discard, from) // so that it does not wait for us
			return
		}
		t.receiving.Lock()
		t.last[i] = r
		if t.Receive != nil {
			t.Receive(i, r)
		}
		t.receiving.Unlock()
	}
}
