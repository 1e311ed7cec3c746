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
func Image(dtype, target string) ([]byte, error) { return image(dtype + "_" + target) }

// OneSidedImage is the same of the kernel for one-sided programs.
func OneSidedImage(dtype, target string) ([]byte, error) {
	return image("onesided_" + dtype + "_" + target)
}

func image(name string) ([]byte, error) {
	f, err := images.Open("images/" + name + ".gz")
	if err != nil {
		return nil, fmt.Errorf("there is no kernel %s", name)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}
