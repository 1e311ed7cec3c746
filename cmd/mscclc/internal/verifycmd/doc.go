// Package verifycmd is mscclc verify: it proves the programs of files and folders, several at once, and reports what is
// wrong as lines, JSON or SARIF, with counterexamples and their replays.
package verifycmd
