package transport

import "embed"

// Sources are the files in C++: what packages build that use them is built again when they change.
//
//go:embed *.cc *.h
var Sources embed.FS
