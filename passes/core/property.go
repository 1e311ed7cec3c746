package core

import "strings"

// A Property is a fact about a State that, once a pass has given it, every later pass preserves.
type Property uint

// The properties.
const (
	// Meaning: evaluation in the order of the list yields the collective's result.
	Meaning Property = 1 << iota
	// Single: a chunk of scratch or packets is written once, before it is read. Packets are read once, by another rank.
	Single
	// Acted: each Move is of a rank that may make it. It reads what is its own, or pulls into what is its own.
	Acted
	// Depends: dependences are the conflicts of Moves on cells of memory.
	Depends
	// Ordered: the list holds each Move once, after all that it depends on. Moves of a group do not depend on each other.
	Ordered
	// Placed: the chunks of scratch and packets of a rank are numbered from 0, each for one value.
	Placed
	// Synced: signals, packets and program order imply every dependence across ranks.
	Synced
	// Left: when the launch of a rank ends, the accesses of others to its buffers are over.
	Left
	// Proven: the program that the State becomes is proven.
	Proven

	NumProperties = iota
)

var propertyNames = [NumProperties]string{
	"meaning", "single", "acted", "depends", "ordered", "placed", "synced", "left", "proven",
}

func (p Property) String() string {
	var names []string
	for i, name := range propertyNames {
		if p&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}
