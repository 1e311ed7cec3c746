// Package choose finds the fastest program for a call of a collective.
//
// # Where to begin
//
//   - A [Chooser] chooses for a device. [Chooser.Choose] returns the [selection.Choice] for a [Call], and
//     [Chooser.Program] compiles and proves it. The table of the Chooser holds measured results; [DefaultTable] is
//     built in. If the table has no rule for a call, the Chooser simulates the programs on the device's [Machine].
//   - A [Selector] compares all programs on any topology by simulation, for any target.
//   - A [Launcher] runs calls on GPUs with the variants of a Chooser. With an [Online], it tries a few variants during
//     the first calls: those that the Chooser expects to be the fastest. Then it uses the variant with the least time.
//     All of these are variants of mscclc. The C++ library of package runtime also tries NCCL, by code of its own.
//   - [UserPrograms] are the user's own programs. A Chooser or a Selector chooses among them and those of the catalog.
//
// # Rarely needed
//
// [ReadTable] reads a table that mscclc search wrote. [Candidates] and [Collectives] list the catalog.
package choose

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"mscclc/algorithms"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/lang"
	"mscclc/selection"
)

// Ported returns c with all its copies made by a port, which what reduces cannot be. ok is false where c's protocol has
// packets, or it is two-sided.
func Ported(c selection.Choice) (ported selection.Choice, ok bool) {
	ok = c.Protocol == ir.Simple && c.Sided == selection.OneSided
	c.Via = ir.ViaPort
	return c, ok
}

// A Call is what a variant is chosen for and compiled for.
type Call struct {
	Kind    ir.Kind
	Ranks   int
	Root    int
	Inplace bool
	Nodes   int // that the ranks are in, as many in each; 0 is 1

	// On is of each rank its node, as OnNodes has it, where mscclc's executor runs the call on several nodes: programs are
	// compiled for them. Nodes are then how many there are.
	On string
}

// ranksText returns a call's ranks for a message, and how many nodes these are in, of more than one.
func (c Call) ranksText() string {
	text := fmt.Sprintf("%d ranks", c.Ranks)
	if c.Ranks == 1 {
		text = "1 rank"
	}
	if c.Nodes > 1 {
		text += fmt.Sprintf(" in %d nodes", c.Nodes)
	}
	return text
}

// Compile compiles a choice, of the catalog, for calls like c.
func (c Call) Compile(v selection.Choice) (*either.Program, error) {
	return UserPrograms(nil).compile(v, c)
}

// options returns how an algorithm with some facts is expanded for calls like c.
func (c Call) options(is facts) lang.Options {
	params := lang.Params{}
	switch nodes := max(c.Nodes, 1); {
	case is.flat:
		params["ranks"] = c.Ranks
	case is.nodal:
		params["nodes"], params["gpus"] = nodes, c.Ranks/nodes
	}
	if is.rooted {
		params["root"] = c.Root
	}
	return lang.Options{Params: params, Inplace: &c.Inplace, Open: algorithms.Open}
}

// A RanksError says that a program is for another number of ranks than a call has.
type RanksError struct {
	Program string
	Kind    ir.Kind
	Ranks   int // of the program
	Called  int // of the call
}

func (e *RanksError) Error() string {
	return fmt.Sprintf("%s is for %v of %s, not of %d", e.Program, e.Kind, diag.Counted(e.Ranks, "rank"), e.Called)
}

// meets returns nil if what program became is what c asks for. Where it is but for the number of ranks, the error is a
// *RanksError.
func (c Call) meets(program string, is *ir.Collective) error {
	switch {
	case is.Kind != c.Kind:
		return fmt.Errorf("%s is for %v of %s, not for %v of %d", program, is.Kind, diag.Counted(is.Ranks, "rank"), c.Kind,
			c.Ranks)
	case is.Ranks != c.Ranks:
		return &RanksError{program, is.Kind, is.Ranks, c.Ranks}
	case is.Root != c.Root:
		return fmt.Errorf("%s is for %v with root %d, not with root %d", program, is.Kind, is.Root, c.Root)
	}
	return nil
}

// Candidates returns all forms of the catalog's programs for a collective that take
// nothing but a number of ranks, and no switch's memory, the one-sided first. Not each need compile for each call.
func Candidates(kind ir.Kind) []selection.Choice { return candidates(kind, 1) }

// candidates returns the forms of the programs that take a number of ranks, or, for several nodes, of nodes and GPUs.
func candidates(kind ir.Kind, nodes int) []selection.Choice {
	var list []selection.Choice
	for _, name := range algorithms.Names() {
		is := factsInCatalog(name)
		if path.Dir(name) == kind.String() && !is.switched && !is.ringed && (is.flat || is.nodal && nodes > 1) {
			list = append(list, forms(name, is)...)
		}
	}
	slices.SortStableFunc(list, func(a, b selection.Choice) int { return cmp.Compare(a.Sided, b.Sided) })
	return list
}

// ringed returns the forms of the programs whose rings follow links.
func ringed(kind ir.Kind) (list []selection.Choice) {
	for _, name := range algorithms.Names() {
		if is := factsInCatalog(name); path.Dir(name) == kind.String() && is.ringed {
			list = append(list, forms(name, is)...)
		}
	}
	return list
}

// Collectives returns the collectives that the catalog has a folder of.
func Collectives() []ir.Kind {
	var list []ir.Kind
	entries, _ := fs.ReadDir(algorithms.Files(), ".")
	for _, e := range entries {
		if kind, ok := ir.KindByName(e.Name()); ok && e.IsDir() {
			list = append(list, kind)
		}
	}
	slices.Sort(list)
	return list
}

// IsCollective reports whether name is one of Collectives.
func IsCollective(name string) bool {
	return slices.ContainsFunc(Collectives(), func(k ir.Kind) bool { return strings.EqualFold(k.String(), name) })
}
