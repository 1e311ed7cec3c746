//go:build linux

package hosts

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

// TestMain has the test's program also be what runs on the hosts.
func TestMain(m *testing.M) {
	if address := os.Getenv("HOSTS_LISTEN"); address != "" {
		listen(address)
	}
	if address := os.Getenv("HOSTS_DIAL"); address != "" {
		conn, err := net.DialTimeout("tcp", address, 2*time.Second)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		io.Copy(os.Stdout, conn)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// listen says who it is to all who connect.
func listen(address string) {
	ear, err := net.Listen("tcp", address)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("listening")
	for {
		if conn, err := ear.Accept(); err == nil {
			fmt.Fprint(conn, "host ", address)
			conn.Close()
		}
	}
}

// The hosts reach each other: not while a link is cut, and again when it is mended. They have no other card.
func TestHosts(t *testing.T) {
	n := New(t, 3)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := n.Hosts[0].Command(ctx, "ip", "-br", "link").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "eth0@") {
		t.Fatalf("%v: %s", err, out)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		if name := strings.Fields(line)[0]; name != "lo" && !strings.HasPrefix(name, "eth0@") && !strings.HasPrefix(name, "ifb") {
			t.Errorf("a host has a card of this machine's: %s", line)
		}
	}
	address := n.Hosts[1].Address + ":9000"
	server := n.Hosts[1].Command(ctx, os.Args[0])
	server.Env = append(os.Environ(), "HOSTS_LISTEN="+address)
	ready, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer server.Wait()
	defer server.Process.Kill()
	io.ReadFull(ready, make([]byte, len("listening")))
	hears := func() bool {
		dial := n.Hosts[2].Command(ctx, os.Args[0])
		dial.Env = append(os.Environ(), "HOSTS_DIAL="+address)
		out, err := dial.CombinedOutput()
		return err == nil && string(out) == "host "+address
	}
	if !hears() {
		t.Error("a host does not reach another one")
	}
	n.Hosts[1].Cut(t)
	if hears() {
		t.Error("a host reaches another one whose link is cut")
	}
	n.Hosts[1].Mend(t)
	for tries := 0; !hears(); tries++ {
		if tries == 20 {
			t.Fatal("a host does not reach another one whose link is mended")
		}
	}
	relay := n.Hosts[1].Relay(t, Line{Delay: time.Millisecond})
	if !hears() || relay.Bytes.Load() == 0 {
		t.Error("a host does not reach another one through a relay")
	}
	relay.Kill()
	if hears() {
		t.Error("a host reaches another one whose relay is killed")
	}
}
