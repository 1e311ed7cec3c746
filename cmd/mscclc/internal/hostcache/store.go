package hostcache

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"strings"

	"mscclc/algorithms/choose"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/processes"
	"mscclc/executor/exchange"
	"mscclc/internal/usercache"
	"mscclc/selection"
)

// A Store is what the cache has for the hosts of a job. Only process 0 reads and writes files.
type Store struct {
	app   *cli.App
	first bool
	nodes []string
	here  *choose.Here
	doc   document

	unread, unkept bool // notes that were given
}

// Open reads what was found on the hosts of a job. All processes call it. x is nil in a process alone. node is the node
// of each process, and device names what the ranks run on. A file that does not count is left out, with a note. The
// error is that of the exchange.
func Open(ctx context.Context, a *cli.App, x *exchange.Member, node []int, device string) (*Store, error) {
	hosts, err := exchange.Agree(ctx, x, host(x), nil)
	if err != nil {
		return nil, err
	}
	s := &Store{app: a, first: x == nil || x.Index() == 0, nodes: nodes(hosts, node, device), here: &choose.Here{}}
	var text []byte
	if s.first {
		text = s.read()
	}
	texts, err := exchange.Agree(ctx, x, text, nil)
	if err != nil {
		return nil, err
	}
	s.take(texts[0])
	return s, nil
}

// Here returns what was found.
func (s *Store) Here() *choose.Here { return s.here }

// name returns the name of the file.
func (s *Store) name() string {
	return usercache.Name(sha256.Sum256([]byte(strings.Join(s.nodes, "\n"))))
}

// read returns the text of the file, or nothing.
func (s *Store) read() []byte {
	folder, err := usercache.Find("hosts")
	if err != nil {
		return nil // who writes says why
	}
	defer folder.Close()
	text, err := folder.Read(s.name(), maxFile)
	switch {
	case err == nil:
		folder.Used(s.name())
	case !errors.Is(err, fs.ErrNotExist):
		s.note(&s.unread, "what the cache has for these hosts is not used: %v", err)
	}
	return text
}

// take takes the text of a file for what was found, unless it does not count.
func (s *Store) take(text []byte) {
	if len(text) == 0 {
		return
	}
	d, err := decode(text, processes.Build(), s.nodes)
	if err == nil {
		var here *choose.Here
		if here, err = d.here(); err == nil {
			s.doc, s.here = *d, here
			return
		}
	}
	s.note(&s.unread, "what the cache has for these hosts is not used: %v; mscclc search and topo --measure find it anew", err)
}

// note notes something in process 0, unless it was given before.
func (s *Store) note(given *bool, format string, args ...any) {
	if s.first && !*given {
		*given = true
		s.app.Note("", format, args...)
	}
}

// Tuned keeps a rule that was measured for calls of a given number of bytes. The calls are those of an entry.
func (s *Store) Tuned(e selection.Entry, r selection.Rule, bytes int64) {
	s.write(func() error {
		s.here.Measure(e, r, bytes)
		return s.putTable()
	})
}

// putTable puts the table into the document.
func (s *Store) putTable() error {
	var b bytes.Buffer
	err := s.here.Tuned.Write(&b)
	s.doc.Tuned = b.Bytes()
	return err
}

// Network keeps a topology and costs with the network that was measured, as their files have them.
func (s *Store) Network(topology, costs []byte) {
	s.write(func() error {
		s.doc.Topology, s.doc.Costs = string(topology), costs
		return nil
	})
}

// write changes the file, in process 0. Another job may have changed it since it was read. Where it cannot be written,
// a note says so, once.
func (s *Store) write(change func() error) {
	if !s.first {
		return
	}
	folder, err := usercache.Open("hosts")
	if errors.Is(err, usercache.ErrOff) {
		return
	}
	if err == nil {
		defer folder.Close()
		err = s.rewrite(folder, change)
	}
	if err != nil {
		s.note(&s.unkept, "what was found is not kept for later jobs on these hosts: %v; MSCCLC_CACHE names another folder, or is off",
			err)
	}
}

// rewrite is write in an open folder.
func (s *Store) rewrite(folder *usercache.Folder, change func() error) error {
	if text, err := folder.Read(s.name(), maxFile); err == nil {
		s.take(text)
	}
	if err := change(); err != nil {
		return err
	}
	s.doc.Build, s.doc.Nodes = processes.Build(), s.nodes
	text, err := s.doc.encode()
	if err != nil {
		return err
	}
	folder.Prune(maxFiles)
	return folder.Write(s.name(), text)
}
