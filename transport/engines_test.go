package transport

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mscclc/internal/covering"
)

// An end is one of two processes of testdata/conform.cc.
type end struct {
	*exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	lines []string
}

func (e *end) line(t *testing.T) string {
	t.Helper()
	text, err := e.out.ReadString('\n')
	if err != nil {
		t.Fatalf("a process ended after %q: %v", e.lines, err)
	}
	e.lines = append(e.lines, strings.TrimSpace(text))
	return strings.TrimSpace(text)
}

// pair starts two processes that talk by an engine, and waits until each has got all of the other's messages. It
// returns what they call the device.
func pair(t *testing.T, program string, env []string, engine ...string) (ends [2]*end, device string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	var handles [2]string
	for i := range ends {
		c := exec.CommandContext(ctx, program, engine...)
		c.Env, c.Stderr = append(os.Environ(), env...), os.Stderr
		in, err1 := c.StdinPipe()
		out, err2 := c.StdoutPipe()
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		ends[i] = &end{Cmd: c, in: in, out: bufio.NewReader(out)}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Process.Kill(); c.Wait() })
		handles[i] = ends[i].line(t)
	}
	for i, e := range ends {
		fmt.Fprintln(e.in, handles[1-i])
	}
	for _, e := range ends {
		device = e.line(t)
		if last := e.line(t); last != "fine" {
			t.Fatalf("%s: %s", device, last)
		}
	}
	return ends, device
}

// ended has a process end, and checks that it does so without an error.
func (e *end) ended(t *testing.T, say string) string {
	t.Helper()
	fmt.Fprintln(e.in, say)
	rest, _ := io.ReadAll(e.out)
	if err := e.Wait(); err != nil {
		t.Errorf("%v: %s", err, rest)
	}
	return string(rest)
}

func hasUCX(t *testing.T) {
	t.Helper()
	if out, err := exec.Command("ldconfig", "-p").Output(); err != nil || !strings.Contains(string(out), "libucp.so.0") {
		t.Skip("UCX is not installed (Debian: libucx0)")
	}
}

// UCX carries all messages over TCP, and over shared memory. Over TCP it finds that the other end is gone.
func TestUCX(t *testing.T) {
	hasUCX(t)
	program := engineProgram(t, "conform")
	for tls, want := range map[string]string{"tcp,self": "tcp/", "posix,self": "posix/memory", "sysv,cma,self": "cma/memory"} {
		t.Run(tls, func(t *testing.T) {
			ends, device := pair(t, program, []string{"UCX_TLS=" + tls}, "ucx", "")
			if !strings.HasPrefix(device, "UCX ") || !strings.Contains(device, want) {
				t.Errorf("UCX took %q", device)
			}
			if tls != "tcp,self" {
				for _, e := range ends {
					e.ended(t, "end")
				}
				return
			}
			ends[1].Process.Kill()
			if said := ends[0].ended(t, "send"); !strings.Contains(said, "gone: UCX: ") {
				t.Errorf("a process that is gone: %q", said)
			}
		})
	}
}

// Connections of a job to one process share an endpoint of UCX, and those of another job do not. UCX maps memory once.
func TestUCXCalls(t *testing.T) {
	hasUCX(t)
	for _, name := range []string{"ends", "memory"} {
		t.Run(name, func(t *testing.T) { ucxCalls(t, name) })
	}
}

func ucxCalls(t *testing.T, name string) {
	t.Helper()
	program := engineProgram(t, name, "-fsanitize=address,undefined")
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = append(os.Environ(), "UCX_TLS=tcp,self", "ASAN_OPTIONS=detect_leaks=0") // UCX leaves memory behind
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "fine\n" {
		t.Errorf("%v: %s", err, out)
	}
}

// Plugins of all versions carry all messages, and say when the other end is gone.
func TestPlugins(t *testing.T) {
	program := engineProgram(t, "conform")
	for version := 8; version <= 11; version++ {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			plugin := plugin(t, version)
			ends, device := pair(t, program, nil, "ncclnet", plugin)
			if want := fmt.Sprintf("tests, plugin version %d", version); device != want {
				t.Errorf("%q, want %q", device, want)
			}
			ends[1].Process.Kill()
			if said := ends[0].ended(t, "send"); !strings.Contains(said, "remote error: send: ") {
				t.Errorf("a process that is gone: %q", said)
			}
			// As NCCL has it, a name is that of a library in the loader's path.
			ends, _ = pair(t, program, []string{"LD_LIBRARY_PATH=" + filepath.Dir(plugin)}, "ncclnet", "tests")
			for _, e := range ends {
				e.ended(t, "end")
			}
		})
	}
}

// Engines free what they made, and stay in their memory.
func TestEnginesWithSanitizer(t *testing.T) {
	program := engineProgram(t, "conform", "-fsanitize=address,undefined")
	plugin := plugin(t, 11)
	for _, engine := range [][]string{{"ncclnet", plugin}, {"ucx", ""}, {"ncclnet", plugin, "2"}, {"ucx", "", "2"}} {
		t.Run(fmt.Sprint(engine[0], len(engine)), func(t *testing.T) {
			env := []string{}
			if engine[0] == "ucx" {
				hasUCX(t)
				env = []string{"UCX_TLS=tcp,self", "ASAN_OPTIONS=detect_leaks=0"} // UCX leaves memory behind
			}
			ends, _ := pair(t, program, env, engine...)
			for _, e := range ends {
				e.ended(t, "end")
			}
		})
	}
}

// Helper threads carry all messages: one that sends and receives, one for each, or more of which some have nothing to
// do. They find that the other end is gone.
func TestHelpers(t *testing.T) {
	program := engineProgram(t, "conform")
	plugin := plugin(t, 11)
	for _, engine := range [][]string{{"ncclnet", plugin}, {"ucx", ""}} {
		for _, threads := range []string{"1", "2", "3"} {
			t.Run(engine[0]+threads, func(t *testing.T) {
				if engine[0] == "ucx" {
					hasUCX(t)
				}
				ends, _ := pair(t, program, []string{"UCX_TLS=tcp,self"}, append(engine, threads)...)
				ends[1].Process.Kill()
				if said := ends[0].ended(t, "send"); !strings.Contains(said, "gone: ") || strings.Contains(said, "gone: \n") {
					t.Errorf("a process that is gone: %q", said)
				}
			})
		}
	}
}

// The threads of an engine with helpers have no race. UCX itself is not built for the sanitizer.
func TestHelpersWithSanitizer(t *testing.T) {
	covering.ForCI(t)
	program := engineProgram(t, "conform", "-fsanitize=thread")
	plugin := plugin(t, 11, "-fsanitize=thread")
	ends, _ := pair(t, program, []string{"TSAN_OPTIONS=halt_on_error=1"}, "ncclnet", plugin, "2")
	for _, e := range ends {
		e.ended(t, "end")
	}
}

// What cannot be opened says why.
func TestEnginesThatAreNot(t *testing.T) {
	program := engineProgram(t, "conform")
	plugin := plugin(t, 9)
	empty := Linked(t, "libempty.so", nil, "-shared")
	for _, c := range []struct {
		engine, spec, env, want string
	}{
		{"ncclnet", "nothing", "A=", "no net plugin of NCCL's: libnccl-net-nothing.so: cannot open"},
		{"ncclnet", "/nowhere/x.so", "A=", "no net plugin of NCCL's: /nowhere/x.so: cannot open"},
		{"ncclnet", "/dev/null", "A=", "no net plugin of NCCL's: /dev/null is no file"},
		{"ncclnet", empty, "A=", "exports no ncclNetPlugin_v8 to v11"},
		{"ncclnet", plugin, "PLUGIN_NO_DEVICE=1", "net plugin tests has no device here"},
		{"ncclnet", plugin, "MSCCLC_NET_DEVICE=1", "MSCCLC_NET_DEVICE is 1, and net plugin tests has devices 0 to 0"},
		{"ncclnet", plugin, "MSCCLC_NET_DEVICE=x", "MSCCLC_NET_DEVICE is x, and"},
		{"ucx", "mlx5", "A=", "ucx:mlx5: this host has no network card mlx5"},
		{"ucx", "", "UCX_TLS=nothing", "UCX"}, // which is not there, or has no such transport
	} {
		cmd := exec.Command(program, c.engine, c.spec)
		cmd.Env = append(os.Environ(), c.env)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.HasPrefix(string(out), "open: ") || !strings.Contains(string(out), c.want) {
			t.Errorf("%s %s %s: %v: %s, want %q", c.env, c.engine, c.spec, err, out, c.want)
		}
	}
}

// What is declared of UCX is as its header has it.
func TestUCXLayout(t *testing.T) {
	if _, err := os.Stat("/usr/include/ucp/api/ucp.h"); err != nil {
		t.Skip("the header of UCX is not installed (Debian: libucx-dev)")
	}
	if _, err := object("testdata/ucx_abi.cc", []string{"-Wno-enum-compare"}); err != nil {
		t.Error(err)
	}
}
