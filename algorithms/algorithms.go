// Package algorithms is the catalog: the algorithms that come with mscclc, a folder for each collective. The file
// COLLECTIVE/NAME.mscl holds algorithm NAME. A file without an algorithm line is a library, which other files of the
// folder import.
//
// # Where to begin
//
//   - [Names] lists the files, and [Open] reads one. To compile a file with mscclc.Compile, set Open in lang.Options to
//     algorithms.Open, and name the file as [Names] does: imports are relative to the file.
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
