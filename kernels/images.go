package kernels

import (
	"compress/gzip"
	"embed"
	"fmt"
	"io"
)

//go:embed images/*.gz
var images embed.FS

// Image returns a kernel for a target (sm_80, gfx942), as build.sh made it of the sources: PTX or a code
// object. Its name is the type of the elements, and for one-sided programs "onesided_" and the type, or "port_" where a
// port copies for them, or "net_" where they are of several nodes, or of these "together_" where replicas share CTAs.
func Image(name, target string) ([]byte, error) {
	f, err := images.Open("images/" + name + "_" + target + ".gz")
	if err != nil {
		return nil, fmt.Errorf("there is no kernel %s for %s", name, target)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}
