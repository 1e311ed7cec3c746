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
	for _, name := range names {
		var f fs.File
		var t T
		if f, err = tables.Open(name); err == nil {
			t, err = read(path.Base(name), f)
		}
		if err != nil {
			panic(err)
		}
		list = append(list, t)
	}
	return list
}
