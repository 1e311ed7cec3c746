package gpu

import (
	"os"
	"regexp"
)

// A Machine is what a driver says of the GPUs of this machine. Two machines that are described alike are as fast as
// each other, as far as a driver says.
type Machine struct {
	Device string // the name of the first GPU
	GPUs   int
	Driver string // its versions
	Links  string // how GPUs reach each other's memory: NVLink, PCIe, none, or a row of letters for each GPU
}

// linksText describes links, of which links[a][b] is N (NVLink), P (PCIe) or - (none).
func linksText(links [][]byte) string {
	words := map[byte]string{'N': "NVLink", 'P': "PCIe", '-': "none"}
	kinds, text := map[byte]bool{}, ""
	for a, row := range links {
		if a > 0 {
			text += " "
		}
		for b, is := range row {
			if a != b {
				kinds[is] = true
			}
		}
		text += string(row)
	}
	if len(kinds) > 1 {
		return text
	}
	for is := range kinds {
		return words[is]
	}
	return words['-']
}

// moduleVersion finds the version of NVIDIA's kernel module.
var moduleVersion = regexp.MustCompile(`Kernel Module(?: for \S+)?\s+([0-9.]+)`)

// kernelModule returns the version of NVIDIA's kernel module, preceded by a space, or nothing where the system does not
// say it.
func kernelModule() string {
	text, err := os.ReadFile("/proc/driver/nvidia/version")
	if err != nil {
		return ""
	}
	if found := moduleVersion.FindSubmatch(text); found != nil {
		return " " + string(found[1])
	}
	return ""
}
