// Package program reads and writes the program files of mscclc: all of a program, in a flat binary form or as JSON.
// The comment above format.go's constants specifies the binary form.
//
//   - [Write] writes the binary form and [Read] reads it. [Encode] and [Decode] do the same in memory.
//   - [WriteJSON] writes the JSON form and [ReadJSON] reads it.
//
// Readers check that a program is well formed, and trust no number of a file. The package may import codegen,
// internal/strictjson, and ir and its packages.
package program
