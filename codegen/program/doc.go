// Package program reads and writes the program files of mscclc: all of a program, in a flat binary form or as JSON.
// The comment above format.go's constants specifies the binary form.
//
//   - [Write] writes the binary form and [Read] reads it. [Encode] and [Decode] do the same in memory.
//   - [ReadRank] reads what one rank needs.
//   - [WriteJSON] writes the JSON form and [ReadJSON] reads it.
//
// Readers check the form of a program and trust nothing that a file says. The package may import codegen,
// internal/strictjson, and ir and its packages.
package program
