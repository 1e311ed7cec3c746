package runtime_test

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"mscclc/bundle"
)

// TestFaults has calls of the driver fail while teams are made. The rank says why, and does not crash.
func TestFaults(t *testing.T) {
	program := engineProgram(t)
	file := write(t, bundle.Encode(makeBundle(t, engineTypes, 1, 2)))
	for _, c := range []struct{ how, env, want string }{
		{"threads", "MSCCLC_STANDIN_MEMORY=1000000", ": an arena of ; out of memory"},
		{"threads", "MSCCLC_STANDIN_NAME=GeForce", "the bundle is for NVIDIA H200, and this GPU is GeForce"},
		{"threads", "MSCCLC_LIBCUDA=/nowhere/libcuda.so", "/nowhere/libcuda.so"},
		{"threads", fails("cuDeviceGetUuid_v2"), "the GPU's UUID: "},
		{"threads", fails("cuIpcGetMemHandle"), "the arena cannot be shared with other processes: "},
		{"threads", fails("cuMemsetD8Async"), "an arena of "},
		{"threads", fails("cuEventCreate"), "an arena of "},
		{"threads", fails("cuCtxEnablePeerAccess"), "access to GPU "},
		{"threads", fails("cuModuleLoadDataEx"), "kernel onesided_u32 for sm_80: "},
		{"threads", fails("cuModuleGetFunction"), "kernel onesided_u32 for sm_80: "},
		{"threads", fails("cuFuncLoad"), "kernel onesided_u32 for sm_80: "},
		{"threads", fails("cuMemcpyHtoDAsync_v2"), "tables of "},
		{"threads", fails("cuOccupancyMaxActiveBlocksPerMultiprocessor"), "kernel onesided_u32 for sm_80: "},
		{"processes", fails("cuIpcOpenMemHandle_v2"), "the memory of rank "},
	} {
		t.Run(c.env, func(t *testing.T) {
			out, err := tryEngine(t, program, file, c.how, 2, []string{"mixes"}, c.env)
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 1 {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, want := range strings.Split(c.want, "; ") {
				if !strings.Contains(out, want) {
					t.Errorf("%q is not in %q", want, out)
				}
			}
		})
	}
}

// fails returns the variable that has the first call of a function of the driver fail.
func fails(name string) string { return "MSCCLC_STANDIN_FAIL=" + name + ":1" }
