package kernels

import (
	"compress/gzip"
	"embed"
	"fmt"
	"io"
)

//go:embed images/*.gz
var images embed.FS

// Image is the kernel for elements of a type and a target (sm_80, gfx942): PTX or
// a code object, as build.sh made it of the sources.
func Image(dtype, target string) ([]byte, error) {
	f, err := images.Open("images/" + dtype + "_" + target + ".gz")
	if err != nil {
		return nil, fmt.Errorf("no kernel for %s on %s", dtype, target)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}
