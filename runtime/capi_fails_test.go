package runtime_test

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mscclc/internal/covering"
	"mscclc/ir"
	library "mscclc/runtime"
)

// skipOnGPU skips tests that need the mock driver.
func skipOnGPU(t *testing.T) {
	t.Helper()
	if onGPU() {
		t.Skip("these tests run on the mock driver")
	}
}

// TestInterfaceFails: calls fail that cannot succeed, and say why: ranks that differ, do not come, end or abort, waits
// that take too long, forks, and arguments that are wrong.
func TestInterfaceFails(t *testing.T) {
	skipOnGPU(t)
	file := namedBundle(t, 2, interfacePrograms, 2, 3)
	fewer := namedBundle(t, 2, interfacePrograms[1:], 2, 3)
	renamed := interfacePrograms[:1:1]
	renamed = append(renamed, interfacePrograms[1])
	renamed[1].Program = "both_ways.mscl"
	other := namedBundle(t, 2, append(renamed, interfacePrograms[2]), 2, 3)
	rules := namedBundle(t, 1, interfacePrograms, 2, 3)
	for _, c := range []struct {
		name, how, on, other string
		want                 []string
		env                  []string
	}{
		{"differ", "processes", "cpu", fewer, []string{"rank 0 loads the program both_ways, and the bundle of rank 2 lacks it"}, nil},
		{"differ", "threads", "gpu", other, []string{"ranks 0 and 2 load different programs called halo"}, nil},
		{"differ", "threads", "cpu", rules, []string{"ranks 0 and 2 load different"}, nil},
		{"missing", "threads", "cpu", file, []string{"rank 0: programs: mscclc_load: rank 2 did not call mscclc_load within 9 s"}, nil},
		{"late", "processes", "cpu", file, []string{"rank 2 did not call mscclc_comm_by_id within 8 s"}, []string{"MSCCLC_MEET=8"}},
		{"no_gpu", "threads", "gpu", file, []string{"rank 0 of 3: rank 2: the calling thread has no GPU"}, nil},
		{"same_rank", "threads", "cpu", file, []string{"two processes or threads are rank 0"}, nil},
		{"abort", "threads", "cpu", file, []string{"rank 1: rank 0 has aborted the communicator", "rank 0: the communicator was aborted"}, nil},
		{"abort", "processes", "gpu", file, []string{"rank 1: rank 0 has aborted the communicator"}, nil},
		{"lost", "processes", "cpu", file, []string{"rank 0: rank 2 has ended without mscclc_destroy"}, nil},
		{"lost", "processes", "gpu", file, []string{"rank 0: rank 2 has ended without mscclc_destroy"}, nil},
		{"outlived", "processes", "cpu", file, []string{"rank 0: rank 2 has left after 1 calls, and call 2 needs it"}, nil},
		{"outlived", "threads", "gpu", file, []string{"rank 1: rank 2 has left after 1 calls, and call 2 needs it"}, nil},
		{"timeout", "processes", "cpu", file, []string{"both_ways.mscl:", "waited"}, []string{"MSCCLC_TIMEOUT=0.3"}},
		{"timeout", "threads", "gpu", file, []string{"both_ways.mscl:", "waited"}, []string{"MSCCLC_TIMEOUT=0.3"}},
		{"fork", "threads", "cpu", file, nil, nil},
		{"fork", "processes", "gpu", file, nil, nil},
		{"wrong", "threads", "cpu", file, []string{"no program for 3 ranks is called ring; the bundle has: both_ways, halo, a2av",
			"buffer input is null", "the buffers overlap", "has loaded no NCCL"}, nil},
	} {
		t.Run(c.name+c.how+c.on, func(t *testing.T) {
			t.Parallel()
			out := scene(t, c.name, c.how, c.on, 3, file, c.other, c.env...)
			for _, want := range c.want {
				if !strings.Contains(out, want) {
					t.Errorf("%q is not in the output:\n%s", want, out)
				}
			}
		})
	}
}

// An id is what the test knows of a unique id (StarId in src/c/star.h).
type id struct {
	address string
	secret  []byte
}

// sceneOfID starts a scene of three threads that first prints its id, and returns its input and the rest of its output.
func sceneOfID(t *testing.T, name string) (cmd *exec.Cmd, of id, in io.Writer, rest io.Reader) {
	t.Helper()
	file := namedBundle(t, 2, interfacePrograms[:1], 3)
	program, err := scenesProgram()
	if err != nil {
		t.Fatal(err)
	}
	cmd = sceneCommand(t, program, name, "threads", "cpu", 3, file, file)
	cmd.Stderr = os.Stderr
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	b, err := hex.DecodeString(strings.TrimSpace(line))
	if err != nil || len(b) != 128 || string(b[:8]) != "mscclci1" {
		t.Fatalf("%q is no id: %v", line, err)
	}
	return cmd, id{fmt.Sprintf("%s:%d", net.IP(b[8:12]), binary.LittleEndian.Uint16(b[12:])), b[16:32]}, in, lines
}

// frame is a frame of src/c/star.h.
func frame(kind uint16, bytes int, body []byte) []byte {
	out := binary.LittleEndian.AppendUint32(nil, 0x6d736363)
	out = binary.LittleEndian.AppendUint16(out, kind)
	out = binary.LittleEndian.AppendUint16(out, 0)
	out = binary.LittleEndian.AppendUint32(out, 0)
	return append(binary.LittleEndian.AppendUint32(out, uint32(bytes)), body...)
}

// hello is the first frame of a rank.
func hello(secret []byte, abi, ranks, rank, device uint32) []byte {
	body := append([]byte(nil), secret...)
	for _, n := range []uint32{abi, ranks, rank, device} {
		body = binary.LittleEndian.AppendUint32(body, n)
	}
	return frame(1, len(body), body)
}

// TestInterfaceVersion: a rank whose library has another version of the interface is named on all ranks.
func TestInterfaceVersion(t *testing.T) {
	cmd, id, _, lines := sceneOfID(t, "version")
	conn, err := net.Dial("tcp", id.address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write(hello(id.secret, 99, 3, 2, 1)); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(lines)
	if err := cmd.Wait(); err != nil || strings.Count(string(rest), "rank 2 has libmscclc.so of ABI 99, and others of ABI 1") != 2 {
		t.Errorf("%v: %s", err, rest)
	}
}

// TestInterfaceStrangers: who does not know the secret, sends anything, or nothing, does not disturb ranks.
func TestInterfaceStrangers(t *testing.T) {
	cmd, id, in, _ := sceneOfID(t, "strangers")
	no := make([]byte, 16)
	said := [][]byte{nil, []byte("GET / HTTP/1.1\r\n\r\n"), hello(no, 1, 3, 0, 1), hello(id.secret, 1, 3, 0, 1)[:20],
		frame(2, 5, []byte("round")), frame(1, 1<<31, no), frame(1, 4096, no), frame(4, 0, nil), frame(5, 0, nil),
		frame(1, 3, []byte("abc"))}
	var conns []net.Conn
	for i := range 80 { // more than the hub keeps
		conn, err := net.DialTimeout("tcp", id.address, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		conn.Write(said[i%len(said)])
		conns = append(conns, conn)
	}
	// Those that send nonsense are closed at once; those that send nothing within two seconds.
	for i, conn := range conns {
		conn.SetReadDeadline(time.Now().Add(time.Minute))
		if n, err := conn.Read(make([]byte, 1)); n > 0 || err == nil || os.IsTimeout(err) {
			t.Errorf("stranger %d hears %d bytes: %v", i, n, err)
		}
		conn.Close()
	}
	io.WriteString(in, "\n")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestInterfaceSanitized runs scenes under the address sanitizer and under the thread sanitizer.
func TestInterfaceSanitized(t *testing.T) {
	covering.ForCI(t)
	skipOnGPU(t)
	file, other := namedBundle(t, 2, interfacePrograms, 3), namedBundle(t, 2, interfacePrograms[1:2], 3)
	how := map[string]func() ([]string, error){sanitize: sanitizedInterface, racing: racingInterface}
	for flag, objects := range how {
		program := sanitizedScenes(t, flag, objects)
		for _, c := range [][2]string{{"runs", "threads"}, {"lives", "threads"}, {"abort", "threads"}, {"differ", "processes"},
			{"lost", "processes"}, {"rows", "threads"}} {
			t.Run(flag+c[0], func(t *testing.T) {
				t.Parallel()
				file := file
				if c[0] == "rows" {
					file = rowBundle(t, 3, ir.LL)
				}
				cmd := sceneCommand(t, program, c[0], c[1], "cpu", 3, file, other,
					"ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0", "UBSAN_OPTIONS=print_stacktrace=1")
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
	}
}

// sanitizedScenes builds testdata/capi with a sanitizer, and the library in it.
func sanitizedScenes(t *testing.T, flag string, objects func() ([]string, error)) string {
	t.Helper()
	list, err := objects()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := interfaceLibrary()
	if err != nil {
		t.Fatal(err)
	}
	units, err := filepath.Glob("testdata/capi/*.c")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "scenes")
	units, err = unitObjects(t.TempDir(), units, flag, "-x", "c", "-std=c11", "-D_GNU_SOURCE", "-O1", "-g",
		"-Wno-strict-prototypes", "-I"+filepath.Join(dir, "include"))
	if err != nil {
		t.Fatal(err)
	}
	if err := library.Link(program, append(units, list...), flag, "-g", "-lm"); err != nil {
		t.Fatal(err)
	}
	return program
}
