package selection

import "fmt"

// Sided says by which lowering a program is made.
type Sided uint8

// The lowerings, in the order of choices.
const (
	OneSided Sided = iota
	Lowered        // one-sided, made of a two-sided program
	TwoSided       // sends and receives
)

var sidedNames = []string{OneSided: "one", Lowered: "lowered", TwoSided: "two"}

func (s Sided) String() string { return sidedNames[s] }

// MarshalText writes s as files have it.
func (s Sided) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (s *Sided) UnmarshalText(text []byte) error { return named(s, sidedNames, text) }

// Placement says which calls a program is for, by what it reaches of other ranks.
type Placement uint8

// The placements. Staged and direct programs are for calls in place and out of place.
const (
	AsCalled Placement = iota // for calls in place, or for calls out of place
	Staged                    // other ranks reach scratch and packets only
	Direct                    // other ranks may reach input and output too
)

var placementNames = []string{AsCalled: "", Staged: "staged", Direct: "direct"}

func (p Placement) String() string { return placementNames[p] }

// MarshalText writes p as files have it.
func (p Placement) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (p *Placement) UnmarshalText(text []byte) error { return named(p, placementNames, text) }

// named sets a number by its name.
func named[N ~uint8](n *N, names []string, text []byte) error {
	for i, name := range names {
		if name == string(text) {
			*n = N(i)
			return nil
		}
	}
	return fmt.Errorf("%q is none of %q", text, names)
}
