// Package bundle makes bundles: files with the programs, kernels and rules of communicators, which the library in
// runtime reads. runtime/src/bundle_rows.h is the format.
//
// [Build] compiles and proves the programs of some rules, and lays out their memory. [Encode] writes a [Bundle], and
// [Decode] reads one and checks every number in it. [Verify] proves all programs of a file anew, and compares the
// tables in it with those that it makes itself. Equal input gives equal bytes.
package bundle
