// Package selection has the type Choice, which says which program runs a call and how. It also has the tables that map
// calls to Choices, and reads and writes their files.
//
// A [Choice] is a variant: the name of an algorithm, how it is compiled, and how its program is launched. It is
// compiled for a protocol, a number of lanes (thread blocks of a rank) and so on. A launch has a number of replicas, of
// threads of a block, and of bytes of a tile. Code that chooses, measures, stores or runs programs uses this type. A
// Choice does not hold the call that it is for, nor the time that was measured. The tables and reports have both, next
// to the Choice.
//
// Each field of a Choice has a row in a table, the variable rows. The row says how the field is read, named, ordered
// and checked.
package selection

import (
	"strings"

	"mscclc/executor/launch"
	"mscclc/internal/strictjson"
	"mscclc/ir"
	"mscclc/passes/core"
)

// A Choice is a program in one form, and how wide it runs. Zero numbers leave the choice to the executor.
type Choice struct {
	Program   string      `json:"program" doc:"an algorithm of the catalog, or a file"`
	Sided     Sided       `json:"sided,omitzero" doc:"two for sends and receives; lowered: one-sided, from such; absent: one-sided"`
	Protocol  ir.Protocol `json:"protocol"`
	Via       ir.Via      `json:"via,omitzero" doc:"port for copies by the host's proxy"`
	Placement Placement   `json:"placement,omitzero" doc:"staged or direct, for calls in place and out of place; absent: for one of both"`
	InLanes
	launch.Width
}

// InLanes says in how many lanes ranks run a program, how many copies of scratch these have, and how many replicas of a
// lane that only copies to other nodes share a CTA. The zero value is one lane.
type InLanes struct {
	Lanes    int `json:"lanes,omitempty" doc:"thread blocks of a rank at most, each at its own pace; absent: one"`
	Copies   int `json:"copies,omitempty" doc:"of scratch, so that lanes may be further apart; absent: three"`
	Together int `json:"together,omitempty" doc:"replicas that share a CTA, of lanes that only copy to other nodes"`
}

// Several reports whether a rank has several lanes.
func (l InLanes) Several() bool { return l.Lanes > 1 }

// Into has a program be compiled in l's lanes.
func (l InLanes) Into(o *core.Options) { o.Lanes, o.Copies, o.Together = l.Lanes, l.Copies, l.Together }

// Plain is c without a width, which its program does not depend on.
func (c Choice) Plain() Choice {
	c.Width = launch.Width{}
	return c
}

// String names c for a report: allpairs LL16 8x512, or hierarchical Simple 16 lanes 8x512.
func (c Choice) String() string { return c.text(0) }

// LanesText returns the part of c's name that is of its lanes: a space and 8 lanes 5 copies, or nothing.
func (c Choice) LanesText() string { return Choice{InLanes: c.InLanes}.text(firstLane) }

// WidthText returns the part of c's name that is of its width: a space and 8x512/64K, or nothing.
func (c Choice) WidthText() string { return c.text(firstWidth) }

// text joins the texts of the rows from one on.
func (c Choice) text(from int) string {
	var b strings.Builder
	for _, r := range rows[from:] {
		b.WriteString(r.text(&c))
	}
	return b.String()
}

// Compare orders choices by their fields, those with names by the names.
func Compare(a, b Choice) int {
	for _, r := range rows {
		if order := r.compare(&a, &b); order != 0 {
			return order
		}
	}
	return 0
}

// Unfit says why no program runs as c says, as a message goes on after the name of a rule, and of which key in a file.
// Both are empty where one may.
func (c Choice) Unfit() (key, why string) {
	for _, r := range rows {
		if why := r.unfit(&c); why != "" {
			return r.key, why
		}
	}
	return "", ""
}

// Fields reads c.
func (c *Choice) Fields(t *strictjson.Reader) (list []strictjson.Field) {
	for _, r := range rows {
		list = append(list, strictjson.Field{Key: r.key, Read: func() { r.read(t, c) }})
	}
	return append(list,
		strictjson.Field{Key: "columns", Read: func() { c.Replicas = number(t, 0, mostReplicas) }}, // its former name
		strictjson.Field{Key: "direct", Read: func() { // which files of version 1 have
			if t.Bool() {
				c.Placement = Direct
			}
		}})
}

// Keys returns the keys of a Choice's fields but its program's.
func Keys() (list []string) {
	for _, r := range rows[1:] {
		list = append(list, r.key)
	}
	return append(list, "columns", "direct")
}
