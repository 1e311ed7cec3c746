package gpu

import "embed"

// Sources are the files that open a driver's library, for libraries that are built of them without cgo (runtime).
//
//go:embed driver.c driver.h own.h symbols.h
var Sources embed.FS
