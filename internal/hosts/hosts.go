//go:build linux

// Package hosts makes hosts for tests: network namespaces of this machine, which a bridge connects. The hosts share
// memory and files, and their only network is the bridge. The package needs the program ip of Debian's iproute2, and
// root.
package hosts

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A Network is hosts behind one bridge, which is in a namespace of its own.
type Network struct {
	Hosts  []*Host
	bridge string // its namespace
}

// A Host is a namespace with one network card, eth0.
type Host struct {
	Address string // of the card, without a mask
	name    string // of the namespace
	port    string // the other end of the card, at the bridge
	of      *Network
}

var made atomic.Int32

// New makes a given number of hosts, which are gone when the test ends. Where this machine cannot make any, it skips
// the test.
func New(t testing.TB, count int) *Network {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("network namespaces need root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("network namespaces need the program ip (Debian: iproute2)")
	}
	base := fmt.Sprintf("mscclc-%d-%d", os.Getpid(), made.Add(1))
	n := &Network{bridge: base + "-b"}
	if out, err := exec.Command("ip", "netns", "add", n.bridge).CombinedOutput(); err != nil {
		t.Skipf("this machine makes no network namespaces: %s", strings.TrimSpace(string(out)))
	}
	t.Cleanup(func() { n.close(t) })
	n.must(t, "ip", "-n", n.bridge, "link", "add", "bridge", "type", "bridge")
	n.must(t, "ip", "-n", n.bridge, "link", "set", "bridge", "up")
	for i := range count {
		h := &Host{Address: fmt.Sprintf("10.213.%d.%d", i/200, i%200+1), name: fmt.Sprintf("%s-%d", base, i),
			port: fmt.Sprintf("port%d", i), of: n}
		n.must(t, "ip", "netns", "add", h.name)
		n.Hosts = append(n.Hosts, h)
		n.must(t, "ip", "-n", h.name, "link", "set", "lo", "up")
		h.plug(t)
	}
	for _, h := range n.Hosts {
		h.awaitCard(t)
	}
	return n
}

// plug gives the host its card, which the bridge joins to the others.
func (h *Host) plug(t testing.TB) {
	t.Helper()
	n := h.of
	n.must(t, "ip", "-n", n.bridge, "link", "add", h.port, "type", "veth", "peer", "name", "eth0", "netns", h.name)
	n.must(t, "ip", "-n", n.bridge, "link", "set", h.port, "master", "bridge", "up")
	n.must(t, "ip", "-n", h.name, "addr", "add", h.Address+"/16", "dev", "eth0")
	n.must(t, "ip", "-n", h.name, "link", "set", "eth0", "up")
}

// Replug makes eth0 anew, so that its index is above those of all other cards of the host.
func (h *Host) Replug(t testing.TB) {
	t.Helper()
	h.of.must(t, "ip", "-n", h.of.bridge, "link", "del", h.port)
	h.plug(t)
	h.awaitCard(t)
}

// awaitCard waits until the card runs, without which UCX takes it for none. Linux reports so a second later at times.
func (h *Host) awaitCard(t testing.TB) {
	t.Helper()
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		out, err := exec.Command("ip", "-n", h.name, "-br", "link", "show", "eth0").Output()
		if fields := strings.Fields(string(out)); err == nil && len(fields) > 1 && fields[1] == "UP" {
			return
		}
		if time.Since(begin) > 10*time.Second {
			t.Fatalf("eth0 of %s does not run: %s, %v", h.name, out, err)
		}
	}
}

func (n *Network) must(t testing.TB, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, out)
	}
}

// close deletes the namespaces, and with them what is in them.
func (n *Network) close(t testing.TB) {
	for _, h := range n.Hosts {
		n.must(t, "ip", "netns", "del", h.name)
	}
	n.must(t, "ip", "netns", "del", n.bridge)
}

// Command returns a command that runs on the host. Its environment is that of the test.
func (h *Host) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "ip", append([]string{"netns", "exec", h.name, name}, args...)...)
}

// Names gives the host a file of names of its own, with these lines, until the test ends.
func (h *Host) Names(t testing.TB, lines ...string) {
	t.Helper()
	dir := filepath.Join("/etc/netns", h.name) // ip netns exec puts what is in it over /etc
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		os.RemoveAll(dir)
		os.Remove("/etc/netns") // if it is empty
	})
	if err := os.WriteFile(filepath.Join(dir, "hosts"), []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Also gives the host's card another address, with a mask.
func (h *Host) Also(t testing.TB, address string) {
	t.Helper()
	args := []string{"-n", h.name, "addr", "add", address, "dev", "eth0"}
	if strings.Contains(address, ":") {
		args = append(args, "nodad")
	}
	h.of.must(t, "ip", args...)
}

// Card gives the host another card, which leads nowhere, with an address and its mask.
func (h *Host) Card(t testing.TB, name, address string) {
	t.Helper()
	h.of.must(t, "ip", "-n", h.name, "link", "add", name, "type", "veth", "peer", "name", "peer-"+name)
	for _, end := range []string{name, "peer-" + name} {
		h.of.must(t, "ip", "-n", h.name, "link", "set", end, "up")
	}
	h.of.must(t, "ip", "-n", h.name, "addr", "add", address, "dev", name)
}

// Void has what the host sends to an address by a card get lost without an answer.
func (h *Host) Void(t testing.TB, card, address string) {
	t.Helper()
	const nobody = "02:00:00:00:00:01"
	h.of.must(t, "ip", "-n", h.name, "neigh", "add", address, "lladdr", nobody, "dev", card, "nud", "permanent")
}

// Refuse has connections of the host to an address fail at once.
func (h *Host) Refuse(t testing.TB, address string) {
	t.Helper()
	h.of.must(t, "ip", "-n", h.name, "route", "add", "unreachable", address)
}

// Bridge gives the host a bridge with an address and its mask, as docker0 is with one container: a veth is in it, whose
// other end leads nowhere else.
func (h *Host) Bridge(t testing.TB, name, address string) {
	t.Helper()
	h.of.must(t, "ip", "-n", h.name, "link", "add", name, "type", "bridge")
	h.of.must(t, "ip", "-n", h.name, "link", "add", "veth-"+name, "type", "veth", "peer", "name", "in-"+name)
	h.of.must(t, "ip", "-n", h.name, "link", "set", "veth-"+name, "master", name)
	for _, card := range []string{name, "veth-" + name, "in-" + name} {
		h.of.must(t, "ip", "-n", h.name, "link", "set", card, "up")
	}
	h.of.must(t, "ip", "-n", h.name, "addr", "add", address, "dev", name)
}

// Cut takes the host's link to the bridge down, and Mend up again.
func (h *Host) Cut(t testing.TB) {
	t.Helper()
	h.of.must(t, "ip", "-n", h.of.bridge, "link", "set", h.port, "down")
}

// Mend undoes Cut.
func (h *Host) Mend(t testing.TB) {
	t.Helper()
	h.of.must(t, "ip", "-n", h.of.bridge, "link", "set", h.port, "up")
}
