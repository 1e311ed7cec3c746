package nccl

import (
	"fmt"
	"strings"
)

// nvidia are the devices that NVIDIA's PCI numbers are of, where the architecture does not say it.
var nvidia = map[string]string{
	"0x2335": "h200", "0x2901": "b200", "0x2941": "gb200", "0x3182": "b300", "0x31c2": "gb300",
	"0x26b5": "l40", "0x26b9": "l40s",
}

// architectures are the devices of compute capabilities, and of AMD's architectures.
var architectures = map[string]string{
	"sm70": "v100", "sm80": "a100", "sm90": "h100", "sm100": "b200", "sm103": "b300",
	"gfx942": "mi300x", "gfx950": "mi355x",
}

// whatItIs finds what the GPU of a PCI device is.
func (d *dump) whatItIs(pci, gpu *element) {
	sm, ok := d.number(gpu, "sm")
	gcn := strings.ToLower(gpu.attr("gcn"))
	name := fmt.Sprintf("sm%d", sm)
	switch known := nvidia[strings.ToLower(pci.attr("device"))]; {
	case gcn != "":
		if name = gcn; !strings.HasPrefix(name, "gfx") {
			name = "gfx" + name
		}
		name, _, _ = strings.Cut(name, ":")
	case known != "" && (!pci.has("vendor") || strings.ToLower(pci.attr("vendor")) == "0x10de"):
		name = known
	case !ok || sm < 1 || sm > 1<<16:
		d.notes.Add(gpu.line, "GPUs have neither sm nor gcn that says what they are", "")
		return
	}
	if device := architectures[name]; device != "" {
		name = device
	}
	switch {
	case d.device == "":
		d.device = name
	case d.device != name && !d.named:
		d.notes.Add(gpu.line, "GPUs are of another kind than the first: all are taken for that", name)
	}
}
