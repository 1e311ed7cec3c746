package exchange

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mscclc/internal/hosts"
)

// The variables that say what a child of TestCardRule is: a program that finds cards, and an address.
const listensVariable, dialsVariable = "EXCHANGE_TEST_LISTENS", "EXCHANGE_TEST_DIALS"

// TestCardChild is a process of TestCardRule, and nothing else.
func TestCardChild(t *testing.T) {
	if words := strings.Fields(os.Getenv(listensVariable)); len(words) == 2 {
		ear, err := net.Listen("tcp", words[1])
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("listens")
		conn, err := ear.Accept()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println(bothRules(t, words[0], conn))
		os.Exit(0)
	}
	if words := strings.Fields(os.Getenv(dialsVariable)); len(words) == 2 {
		conn, err := net.Dial("tcp", words[1])
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println(bothRules(t, words[0], conn))
		os.Exit(0)
	}
}

// bothRules returns by which card a connection goes, as Go and as the library find it.
func bothRules(t *testing.T, program string, conn net.Conn) string {
	file, err := conn.(*net.TCPConn).File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cmd := exec.Command(program)
	cmd.ExtraFiles = []*os.File{file}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	name, within := cardOf(conn)
	return fmt.Sprintf("%q %t, %s", name, within, out)
}

// ip runs the program ip on a host.
func ip(t *testing.T, h *hosts.Host, args ...string) {
	t.Helper()
	if out, err := h.Command(t.Context(), "ip", args...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// TestCardRule: Go and the library find the same card of a connection, at both ends, whether it leads to another host,
// to this host by its own address, by the loopback, or by an address that no card has. Who has reached an address of
// another host's loopback knows the own card, and that host knows none.
func TestCardRule(t *testing.T) {
	n := hosts.New(t, 2)
	here, there := n.Hosts[0], n.Hosts[1]
	there.Also(t, "10.214.0.2/24")
	there.Also(t, "fd00::2/64")
	here.Also(t, "fd00::1/64")
	ip(t, there, "addr", "add", "10.50.0.1/32", "dev", "lo")
	ip(t, here, "route", "add", "10.50.0.1/32", "via", there.Address)
	program := filepath.Join(t.TempDir(), "card")
	if out, err := exec.Command("g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-o", program, "testdata/card.cc",
		"../../transport/cards.cc").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for i, c := range []struct {
		from           *hosts.Host
		address        string
		dials, accepts string
	}{
		{here, there.Address, `"eth0" false`, `"eth0" false`},
		{here, "[fd00::2]", `"eth0" false`, `"eth0" false`},
		{here, "10.50.0.1", `"eth0" false`, `"" false`},
		{there, there.Address, `"eth0" true`, `"eth0" true`},
		{there, "10.214.0.2", `"eth0" true`, `"eth0" true`},
		{there, "127.0.0.1", `"lo" true`, `"lo" true`},
		{there, "[::1]", `"lo" true`, `"lo" true`},
		{there, "127.0.0.5", `"lo" true`, `"" true`},
	} {
		address := fmt.Sprintf("%s:%d", c.address, 9000+i)
		dials, accepts := connected(t, program, c.from, there, address)
		if want := c.dials + ", " + c.dials; dials != want {
			t.Errorf("who dials %s says %s, and not %s", address, dials, want)
		}
		if want := c.accepts + ", " + c.accepts; accepts != want {
			t.Errorf("who listens at %s says %s, and not %s", address, accepts, want)
		}
	}
}

// connected has one host dial another, and returns what both find of the connection.
func connected(t *testing.T, program string, from, to *hosts.Host, address string) (dials, accepts string) {
	t.Helper()
	server := to.Command(t.Context(), os.Args[0], "-test.run=^TestCardChild$")
	server.Env = append(os.Environ(), listensVariable+"="+program+" "+address)
	out, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer server.Wait()
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "listens" {
		t.Fatalf("%s: %q", address, lines.Text())
	}
	client := from.Command(t.Context(), os.Args[0], "-test.run=^TestCardChild$")
	client.Env = append(os.Environ(), dialsVariable+"="+program+" "+address)
	said, err := client.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", address, err, said)
	}
	lines.Scan()
	return strings.TrimSpace(string(said)), lines.Text()
}
