package launch

import (
	"cmp"
	"math/bits"
)

// This file has the sizes that launches of few packets have (kernels/few/pairs.h). The executor makes such launches
// (abi.OnePart.Few), and simulations time them.

// FewSteps and FewOperands are the most steps and operands of a launch of few packets. OneRanks is how many ranks'
// memory a launch of a one-sided program carries, and so the most ranks of one of few packets.
const (
	FewSteps    = 16
	FewOperands = 56
	OneRanks    = 16
)

// FewChunk is the most bytes of a chunk.
const FewChunk = 1 << 24

// fewUnits is how many half units (8 bytes) of a replica's step are still few, and fewLines how many lines. fewRowUnits
// is fewUnits of a launch with an epilogue, whose rows are long.
const fewUnits, fewLines, fewRowUnits = 4 * 512, 4096, 8 * fewUnits

// FewRowUnits is how many units of 16 bytes of a row a thread holds, and fewThreads how many threads a block has at
// most.
const FewRowUnits, fewThreads = 4, 512

// lineHalves is how many half units a line holds.
const lineHalves = 15

// bundleLanes is how many lanes a bundle has at least: that of the mock driver.
const bundleLanes = 16

// FewPieces returns in how many pieces a launch of few packets moves some half units of a chunk: as many, or lines.
func FewPieces(halves uint64, lines bool) uint64 {
	if lines {
		return (halves + lineHalves - 1) / lineHalves
	}
	return halves
}

// FewMost returns how many pieces a step of such a launch has at most, in all its chunks. rows says that the launch has
// an epilogue.
func FewMost(lines, rows bool) uint64 {
	switch {
	case lines:
		return fewLines
	case rows:
		return fewRowUnits
	}
	return fewUnits
}

// FewRow reports whether blocks of a number of threads finish rows of some bytes in such a launch. They have as many
// threads as the row needs if that is 0.
func FewRow(bytes, threads int) bool {
	return bytes%16 == 0 && bytes/16 <= FewRowUnits*cmp.Or(threads, fewThreads)
}

// FewScales reports whether each block of elements that has a scale is a lane's or that of lanes side by side
// (RowLanes::place in kernels/rows/lanes.h). size is that of an element, and 0 elements are a row.
func FewScales(elements, size int) bool {
	unit := 16 / size
	lanes := elements / unit
	return elements == 0 || elements%unit == 0 && lanes <= bundleLanes && bits.OnesCount(uint(lanes)) == 1
}

// RowsOf returns how many of some rows each replica has, and how many of some replicas have any: one if there are no
// rows.
func RowsOf(rows, replicas uint64) (each, some uint64) {
	each = max(1, (rows+replicas-1)/replicas)
	return each, max(1, (rows+each-1)/each)
}
