package selection

import (
	"embed"
	"io"
	"io/fs"
	"path"
)

// BuiltIn reads all files of an embedded folder, tables. A test reads them, too: one that is wrong is a panic.
func BuiltIn[T any](tables embed.FS, read func(name string, r io.Reader) (T, error)) (list []T) {
	names, err := fs.Glob(tables, "tables/*")
	must(err)
	for _, name := range names {
		f, err := tables.Open(name)
		must(err)
		t, err := read(path.Base(name), f)
		must(err)
		list = append(list, t)
	}
	return list
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
