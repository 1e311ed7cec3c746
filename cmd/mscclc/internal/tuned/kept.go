package tuned

import (
	"fmt"
	"slices"
	"strings"

	"mscclc/internal/usercache"
)

// This file lists all that the cache has.

// Kept returns what was found with GPUs of a name and is in the cache, the newest first. Damaged files are left out.
func Kept(device string) (list []*Document) {
	folder, err := usercache.Find("tuned")
	if err != nil {
		return nil
	}
	defer folder.Close()
	names, _ := folder.Names()
	for _, name := range names {
		text, err := folder.Read(name, maxFile)
		if err != nil {
			continue
		}
		if d, err := parse(text); err == nil && d.Machine.Device == device && d.Machine.name() == name && len(d.Groups) > 0 {
			list = append(list, d)
		}
	}
	slices.SortStableFunc(list, func(a, b *Document) int { return b.Measured.Compare(a.Measured) })
	return list
}

// Unlike says in what m differs from the machine here, or "".
func (m Machine) Unlike(here Machine) string {
	var list []string
	differ := func(what, there, here string) {
		if there != here {
			list = append(list, fmt.Sprintf("%s %s there and %s here", what, orNone(there), orNone(here)))
		}
	}
	differ("the GPUs are", m.Device, here.Device)
	differ("the number of GPUs is", fmt.Sprint(m.GPUs), fmt.Sprint(here.GPUs))
	differ("links are", m.Links, here.Links)
	differ("the driver is", m.Driver, here.Driver)
	differ("NCCL is", m.NCCL, here.NCCL)
	differ("kernels are", m.Kernels, here.Kernels)
	return strings.Join(list, "; ")
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}
