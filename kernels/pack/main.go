// Command pack writes the archives of kernels that package kernels embeds.
//
//	pack FROM TO
//
// FROM has the images of build.sh, a file each. TO gets cuda.zst and amd.zst, which are frames of Zstandard one after
// the other. It also gets index, which has a line for each image: the archive, the offset and length of the image's
// frame in the archive, the offset and length of the image in the decompressed frame, and the name of the image.
//
// NVIDIA's images for one element type are alike, so they share a frame. So do the images for epilogues of one kind of
// GPU. A frame takes some 10 ms to read. AMD's images are small, and all of them share one frame. The command zstd
// compresses frames: at level 19, they are a quarter smaller than the Go package that reads them can make them. Equal
// images give equal bytes with equal versions of zstd.
package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// options are of zstd: a frame refers back 2^24 bytes, and its bytes do not depend on the number of cores.
var options = []string{"-19", "--zstd=wlog=24", "--single-thread", "--no-check", "--quiet", "--stdout"}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: pack FROM TO")
		os.Exit(2)
	}
	if err := pack(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

// An image is a file of FROM.
type image struct {
	name, archive, frame string
	text                 []byte
}

// read returns the images of a folder in the order of the archives. Those that jobs load most come first in a frame,
// since a reader stops when it has an image.
func read(from string) ([]image, error) {
	entries, err := os.ReadDir(from)
	if err != nil {
		return nil, err
	}
	var list []image
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(from, e.Name()))
		if err != nil {
			return nil, err
		}
		i := image{name: e.Name(), archive: "amd", text: text}
		if rest, _, found := strings.Cut(i.name, "_sm_"); found {
			i.archive, i.frame = "cuda", rest[strings.LastIndex(rest, "_")+1:]
			if strings.HasPrefix(rest, "rows_") {
				i.frame = strings.TrimPrefix(i.name, rest) // the target
			}
		}
		list = append(list, i)
	}
	slices.SortFunc(list, func(a, b image) int {
		return cmp.Or(cmp.Compare(a.archive, b.archive), cmp.Compare(a.frame, b.frame),
			cmp.Compare(later(a.name), later(b.name)), cmp.Compare(a.name, b.name))
	})
	return list, nil
}

func later(name string) int {
	if strings.HasPrefix(name, "onesided_") {
		return 0
	}
	return 1
}

func pack(from, to string) error {
	list, err := read(from)
	if err != nil {
		return err
	}
	var index strings.Builder
	archives := map[string][]byte{}
	for len(list) > 0 {
		first, n := list[0], 0
		for n < len(list) && list[n].archive == first.archive && list[n].frame == first.frame {
			n++
		}
		frame, err := compress(list[:n])
		if err != nil {
			return err
		}
		at := 0
		for _, i := range list[:n] {
			fmt.Fprintln(&index, i.archive, len(archives[i.archive]), len(frame), at, len(i.text), i.name)
			at += len(i.text)
		}
		archives[first.archive] = append(archives[first.archive], frame...)
		list = list[n:]
	}
	for name, text := range archives {
		if err := os.WriteFile(filepath.Join(to, name+".zst"), text, 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(to, "index"), []byte(index.String()), 0o644)
}

// compress returns a frame of some images.
func compress(list []image) ([]byte, error) {
	var all, frame, said bytes.Buffer
	for _, i := range list {
		all.Write(i.text)
	}
	zstd := exec.Command("zstd", options...)
	zstd.Stdin, zstd.Stdout, zstd.Stderr = &all, &frame, &said
	if err := zstd.Run(); err != nil {
		return nil, fmt.Errorf("zstd: %w %s", err, said.Bytes())
	}
	return frame.Bytes(), nil
}
