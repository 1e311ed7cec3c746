package devices

import (
	"mscclc/bundle"
	"mscclc/executor/cuda"
)

// Finish has this machine's driver make machine code of the kernels of a bundle. It fails where the first GPU is not
// the one that the bundle is for.
func Finish(b *bundle.Bundle) error {
	linker, err := cuda.NewLinker(0)
	if err != nil {
		return err
	}
	return b.Finish(linker.Name, linker.Target, linker.Link)
}
