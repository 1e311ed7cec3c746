// Package algorithms is the catalog: the programs that come with mscclc, by
// collective. COLLECTIVE/NAME.mscl holds algorithm NAME; what declares no
// algorithm is a library that its neighbours import.
//
// # Where to begin
//
//   - [Names] lists the files, and [Open] reads one. mscclc.Compile compiles the text, with Open: algorithms.Open in
//     its lang.Options, and with the file called as it is here: imports are relative to it.
//   - choose.Chooser, in algorithms/choose, finds the fastest program for a call.
package algorithms

import (
	"embed"
	"io/fs"
	"path"
	"strings"
)

//go:embed */*.mscl
var files embed.FS

// Files returns the catalog as a file system of COLLECTIVE/NAME.mscl.
func Files() fs.FS { return files }

// Names returns the names of all files, sorted: allgather/allpairs and so on.
func Names() []string {
	matches, err := fs.Glob(files, "*/*.mscl")
	if err != nil {
		panic(err) // only a bad pattern is an error
	}
	for i, m := range matches {
		matches[i] = strings.TrimSuffix(m, ".mscl")
	}
	return matches
}

// Open reads a file of the catalog: allreduce/ring, or allreduce/ring.mscl.
func Open(name string) ([]byte, error) {
	name = path.Clean(name)
	if path.Ext(name) == "" {
		name += ".mscl"
	}
	return files.ReadFile(name)
}
