package transport

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// sysfs makes a tree of PCI devices, each with a path below /sys/devices and a class, and returns its root.
func sysfs(t *testing.T, class map[string]string) string {
	t.Helper()
	root := t.TempDir()
	all := filepath.Join(root, "bus/pci/devices")
	if err := os.MkdirAll(all, 0o755); err != nil {
		t.Fatal(err)
	}
	for path, is := range class {
		at := filepath.Join(root, "devices", path)
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"vendor": "0x10de\n", "class": is + "\n"} {
			if err := os.WriteFile(filepath.Join(at, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink("../../../devices/"+path, filepath.Join(all, filepath.Base(path))); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// TestNearestDevice: a process takes the plugin's device that is nearest to its GPU. GPUs to which several are equally
// near take these in turn. Without a GPU, or with one that sysfs does not have, it is device 0. MSCCLC_NET_DEVICE comes
// first.
func TestNearestDevice(t *testing.T) {
	program := engineProgram(t, "device")
	plugin := plugin(t, 10)
	// Two switches with a GPU and a network card each, a switch with two GPUs, and a bus that has a GPU alone.
	const gpu, other = "0x030200", "0x020000"
	root := sysfs(t, map[string]string{
		"pci0000:10/0000:10:01.0/0000:11:00.0/0000:12:00.0": gpu, "pci0000:10/0000:10:01.0/0000:11:01.0/0000:13:00.0": other,
		"pci0000:10/0000:10:02.0/0000:21:00.0/0000:22:00.0": gpu, "pci0000:10/0000:10:02.0/0000:21:01.0/0000:23:00.0": other,
		"pci0000:30/0000:30:01.0/0000:31:00.0/0000:32:00.0": gpu, "pci0000:30/0000:30:01.0/0000:31:01.0/0000:33:00.0": gpu,
		"pci0000:40/0000:40:01.0/0000:41:00.0": gpu,
	})
	near := []string{"/sys/devices/pci0000:10/0000:10:01.0/0000:11:01.0/0000:13:00.0",
		"/sys/devices/pci0000:10/0000:10:02.0/0000:21:01.0/0000:23:00.0"}
	alike := []string{"/sys/devices/pci0000:50/0000:51:00.0", "/sys/devices/pci0000:60/0000:61:00.0"}
	const nearest = "the nearest to the GPU; MSCCLC_NET_DEVICE names another"
	for _, c := range []struct {
		gpu     string
		devices []string
		env     string
		device  int
		why     string
	}{
		{"0000:12:00.0", near, "", 0, nearest},
		{"0000:22:00.0", near, "", 1, nearest},
		{"0000:12:00.0", []string{near[1], near[0]}, "", 1, nearest},
		{"0000:22:00.0", []string{"-", near[0], near[1]}, "", 2, nearest},
		{"0000:12:00.0", alike, "", 0, nearest}, // the first GPU of the host, the second, and so on
		{"0000:22:00.0", alike, "", 1, nearest},
		{"0000:32:00.0", alike, "", 0, nearest},
		{"0000:33:00.0", alike, "", 1, nearest},
		{"0000:41:00.0", append([]string{"-"}, alike...), "", 1, nearest}, // the fifth of the host: 4 % 3
		{"0000:99:00.0", near, "", 0, nearest},                            // sysfs does not have it
		{"", near, "", 0, "MSCCLC_NET_DEVICE names another"},
		{"0000:22:00.0", near[:1], "", 0, "the only one"},
		{"0000:22:00.0", near, "0", 0, "MSCCLC_NET_DEVICE names it"},
		{"", near, "1", 1, "MSCCLC_NET_DEVICE names it"},
	} {
		cmd := exec.Command(program, plugin, c.gpu, root)
		cmd.Env = append(os.Environ(), "PLUGIN_PATHS="+strings.Join(c.devices, "|"), "MSCCLC_NET_DEVICE="+c.env)
		out, err := cmd.CombinedOutput()
		want := fmt.Sprintf("device %d tcp of the tests (%s)", c.device, c.why)
		if err != nil || string(out) != want {
			t.Errorf("GPU %q, devices %s, MSCCLC_NET_DEVICE=%s: %q instead of %q, %v", c.gpu, c.devices, c.env, out, want, err)
		}
	}
}
