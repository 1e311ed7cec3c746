package kernels

import (
	"bytes"
	_ "embed" // the archives
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// The archives of command pack, and their index, which it describes.
var (
	//go:embed images/cuda.zst
	cuda []byte
	//go:embed images/amd.zst
	amd []byte
	//go:embed images/index
	index string
)

// A place says where an image lies: in which frame of an archive, and where in what the frame holds.
type place struct {
	frame     []byte
	at, bytes int64
}

// places has the place of each image by its name and target, as in bf16_sm_80.
var places = sync.OnceValue(func() map[string]place {
	archives := map[string][]byte{"cuda": cuda, "amd": amd}
	all := map[string]place{}
	for line := range strings.Lines(index) {
		var archive, name string
		var begin, length int
		var p place
		if _, err := fmt.Sscan(line, &archive, &begin, &length, &p.at, &p.bytes, &name); err != nil {
			panic("the index of kernels has the line " + line)
		}
		p.frame = archives[archive][begin : begin+length]
		all[name] = p
	}
	return all
})

// Image returns a kernel for a target (sm_80, gfx942), as build.sh made it of the sources: PTX or a code
// object. Its name is the type of the elements, and for one-sided programs "onesided_" and the type, or "port_" where a
// port copies for them, or "net_" where they are of several nodes, or of these "together_" where replicas share CTAs.
func Image(name, target string) ([]byte, error) {
	p, ok := places()[name+"_"+target]
	if !ok {
		return nil, fmt.Errorf("there is no kernel %s for %s", name, target)
	}
	z, err := zstd.NewReader(bytes.NewReader(p.frame), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	if _, err := io.CopyN(io.Discard, z, p.at); err != nil {
		return nil, err
	}
	image := make([]byte, p.bytes)
	_, err = io.ReadFull(z, image)
	return image, err
}
