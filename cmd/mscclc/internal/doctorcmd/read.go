package doctorcmd

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mscclc/files"
	"mscclc/ir/diag"
)

// maxFile and maxFiles bound what is read.
const (
	maxFile  = 64 << 20
	maxFiles = 1 << 16
	maxRanks = 1 << 20
)

// ending is that of the files with last calls.
const ending = ".calls.json"

// A record is what a process wrote of its last calls (record/record.cc in runtime/src).
type record struct {
	file          string
	Host          string
	Pid           int
	Time          time.Time
	Written       string
	Communicators []communicator
}

// A communicator is what a record has of one: the last calls of one rank.
type communicator struct {
	Name    string
	ID      string
	Rank    int
	Ranks   int
	State   string
	Failure string
	Calls   int
	Last    []call
}

// A call is one of them. Call is its number among the communicator's collectives, 0 for Send and Recv.
type call struct {
	Call     int
	Function string
	Count    uint64
	Type     string
	Op       string
	Root     *int
	Native   bool
	Time     time.Time
	State    string
}

// text says what was called.
func (c *call) text() string {
	name := c.Function
	if name == "ncclBcast" {
		name = "ncclBroadcast" // one collective
	}
	s := fmt.Sprintf("%s of %d %s", name, c.Count, c.Type)
	if c.Op != "" {
		s += " " + c.Op
	}
	if c.Root != nil {
		s += fmt.Sprintf(" with root %d", *c.Root)
	}
	return diag.Printable(s)
}

// readFolder reads the records in a folder, and says which files are damaged.
func readFolder(dir string) (list []*record, damaged []Damaged, err error) {
	names, err := filepath.Glob(filepath.Join(globless(dir), "*"+ending))
	if err != nil {
		return nil, nil, err
	}
	if len(names) > maxFiles {
		d := diag.New(diag.Limit, diag.FileSpan(dir), "the folder has %d files of last calls; at most %d are read", len(names), maxFiles)
		return nil, nil, diag.List{d.WithHint("remove those of other jobs")}
	}
	slices.Sort(names)
	for _, name := range names {
		r, err := readFile(name)
		if err != nil {
			damaged = append(damaged, Damaged{name, diag.Printable(err.Error())})
			continue
		}
		list = append(list, r)
	}
	return list, damaged, nil
}

// globless returns a folder's name such that patterns take it as it is.
func globless(dir string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(dir)
}

func readFile(name string) (*record, error) {
	text, err := files.Read(name, "a record of calls", maxFile)
	var system *fs.PathError
	if errors.As(err, &system) {
		return nil, system.Err
	}
	if err != nil {
		return nil, oneLine(err)
	}
	return parse(name, text)
}
