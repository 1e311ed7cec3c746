package fibers

import "embed"

// Sources are the files that run launches on the host, for libraries that are built of them without cgo (runtime).
//
//go:embed fiber.h host.cc host.h watch.h
var Sources embed.FS
