package topology

import (
	"slices"
	"strings"
)

// DeviceOf returns the device, as topologies name it, that a GPU is by its driver's name: h200 for NVIDIA H200. A part
// of a GPU (MIG) is none that is known. A device that no machine of ours has keeps its name, in small letters.
func DeviceOf(gpu string) string {
	name, found := strings.ToLower(strings.TrimSpace(gpu)), ""
	if slices.Contains(strings.Fields(name), "mig") {
		return name
	}
	for _, known := range Devices() {
		if at := strings.Index(name, known); at >= 0 && len(known) > len(found) {
			found = known
		}
	}
	if found == "" {
		return name
	}
	return found
}

// Devices returns the devices of all machines that mscclc knows, sorted by these.
func Devices() (list []string) {
	for _, name := range Names() {
		list = append(list, MachineDevice(name))
	}
	return list
}

// MachineDevice returns the device of a machine that mscclc knows, without reading the whole machine.
func MachineDevice(name string) string {
	text, err := Source(name)
	if err != nil {
		panic(err)
	}
	for line := range strings.Lines(text) {
		if device, ok := strings.CutPrefix(line, "device "); ok {
			return strings.TrimSpace(device)
		}
	}
	return ""
}
