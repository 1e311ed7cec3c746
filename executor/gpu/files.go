//go:build cgo && linux

package gpu

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// This file hands open files from process to process, by a socket of this machine whose
// name has the process's token: who knows the name of an offer, and is of the same user, gets its
// files, in order.

// An office has the files that this process offers.
type office struct {
	mu     sync.Mutex
	offers map[string][]int
	ear    *net.UnixListener
}

var files = &office{offers: map[string][]int{}}

const (
	filesName  = 16               // bytes of an offer's name
	filesOnce  = 200              // that go in one message; the kernel takes 253
	filesWait  = 10 * time.Second // that an exchange of files may take
	filesBytes = 4                // of a file's descriptor in a message
)

// place returns where a process with a token listens, in no folder.
func place(token [16]byte) *net.UnixAddr {
	return &net.UnixAddr{Name: "@mscclc-" + hex.EncodeToString(token[:]), Net: "unix"}
}

// offer takes files, and gives their name.
func (o *office) offer(open []int) ([]byte, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ear == nil {
		ear, err := net.ListenUnix("unix", place(process()))
		if err != nil {
			return nil, fmt.Errorf("handing files to other processes: %w", err)
		}
		o.ear = ear
		go o.serve(ear)
	}
	name := make([]byte, filesName)
	rand.Read(name)
	o.offers[string(name)] = open
	return name, nil
}

// forget ends an offer.
func (o *office) forget(name []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	closeAll(o.offers[string(name)])
	delete(o.offers, string(name))
}

func (o *office) serve(ear *net.UnixListener) {
	for {
		conn, err := ear.AcceptUnix()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			o.hand(conn) // what goes wrong, the other sees
		}()
	}
}

// hand gives the files of the offer that a process asks for.
func (o *office) hand(conn *net.UnixConn) error {
	conn.SetDeadline(time.Now().Add(filesWait))
	if err := sameUser(conn); err != nil {
		return err
	}
	name := make([]byte, filesName)
	if _, err := io.ReadFull(conn, name); err != nil {
		return err
	}
	o.mu.Lock() // so that nobody closes them meanwhile
	defer o.mu.Unlock()
	for open := o.offers[string(name)]; len(open) > 0; {
		n := min(len(open), filesOnce)
		if _, _, err := conn.WriteMsgUnix([]byte{byte(n)}, syscall.UnixRights(open[:n]...), nil); err != nil {
			return err
		}
		open = open[n:]
	}
	return nil
}

// sameUser is whether the other end is a process of this user.
func sameUser(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var who *syscall.Ucred
	var failed error
	if err := raw.Control(func(fd uintptr) {
		who, failed = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); err != nil || failed != nil {
		return errors.Join(err, failed)
	}
	if int(who.Uid) != os.Getuid() {
		return fmt.Errorf("a process of user %d asks for memory", who.Uid)
	}
	return nil
}

// fetch gets the files of a handle from the process that offers them.
func fetch(h *handle) (open []int, err error) {
	defer func() {
		if err != nil {
			closeAll(open)
			open = nil
		}
	}()
	conn, err := net.DialUnix("unix", nil, place(h.Process))
	if err != nil {
		return nil, fmt.Errorf("%w (it must be on this machine, and in the same network namespace)", err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(filesWait))
	if err := sameUser(conn); err != nil {
		return nil, err
	}
	if _, err := conn.Write(h.Name); err != nil {
		return nil, err
	}
	some, rights := make([]byte, 1), make([]byte, syscall.CmsgSpace(filesOnce*filesBytes))
	for len(open) < len(h.Bytes) {
		_, n, _, _, err := conn.ReadMsgUnix(some, rights)
		if err != nil {
			return open, fmt.Errorf("%d of %d files came: %w", len(open), len(h.Bytes), err)
		}
		messages, err := syscall.ParseSocketControlMessage(rights[:n])
		if err != nil {
			return open, err
		}
		before := len(open)
		for i := range messages {
			list, err := syscall.ParseUnixRights(&messages[i])
			if err != nil {
				return open, err
			}
			open = append(open, list...)
		}
		if len(open) == before {
			return open, fmt.Errorf("%d of %d files came", before, len(h.Bytes))
		}
	}
	if len(open) != len(h.Bytes) {
		return open, fmt.Errorf("%d files came for %d segments", len(open), len(h.Bytes))
	}
	return open, nil
}
