package choosing

import (
	"slices"
	"strings"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/ir/diag"
)

// drivers are names that drivers have for GPUs. There are others.
var drivers = []string{
	"NVIDIA H200", "NVIDIA H200 NVL", "NVIDIA H100 80GB HBM3", "NVIDIA H100 PCIe", "NVIDIA H100 NVL", "NVIDIA GH200 480GB",
	"NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-80GB", "NVIDIA A100 80GB PCIe", "NVIDIA A100-PCIE-40GB",
	"NVIDIA B200", "NVIDIA GB200", "NVIDIA B300 SXM6 AC", "NVIDIA GB300", "NVIDIA L40S", "NVIDIA L40", "NVIDIA L4",
	"Tesla V100-SXM2-16GB", "Tesla V100-SXM2-32GB", "Tesla V100-PCIE-32GB", "AMD Instinct MI300X", "AMD Instinct MI355X",
}

// NoteShort notes it if a device is only a part of the names that drivers have for such GPUs.
func NoteShort(a *cli.App, device string) {
	if slices.Contains(drivers, device) {
		return
	}
	var full []string
	for _, name := range drivers {
		if named(name, device) {
			full = append(full, "\""+name+"\"")
		}
	}
	if len(full) > 0 {
		a.Note("", "no driver names a GPU %s, and the library takes a bundle only on GPUs of its name: give the name as "+
			"nvidia-smi -L has it, such as %s", diag.Printable(device), strings.Join(full, ", "))
	}
}

// named reports whether each word of short is one of a full name.
func named(full, short string) bool {
	words := func(s string) []string {
		return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return r == ' ' || r == '-' || r == '_' })
	}
	all := words(full)
	for _, w := range words(short) {
		if !slices.Contains(all, w) {
			return false
		}
	}
	return strings.TrimSpace(short) != ""
}
