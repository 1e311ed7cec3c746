package lang

import (
	"cmp"
	"slices"
	"strings"

	"mscclc/ir/diag"
)

// This file says what may be meant by a name that is not defined.

// A nameUse is what the source does with a name.
type nameUse uint8

const (
	toRead nameUse = iota
	toCall
	toAssign
)

// namesShown bounds the names that a hint lists.
const namesShown = 10

// suggestName gives d a hint of what is meant by text, which is not defined.
func (c *compiler) suggestName(d *diag.Diagnostic, text string, use nameUse) {
	near := diag.Nearest(text, c.scope.all())
	here, variables := c.namesHere(use)
	include := c.main.includeOf()
	switch {
	case near != "" && (variables < 2 || !otherNumber(text, near)):
		d.Hint = "did you mean " + near + "?"
	case foreignNames[text] != "":
		d.Hint = foreignNames[text]
	case include != nil:
		*d = d.WithNote(tokenSpan(include), "this line is a comment")
		d.Hint = importHint
	case use == toAssign:
		d.Hint = "a variable is declared by let " + text + " = ..."
	case foreignVariables[text] != "":
		d.Hint = foreignVariables[text] + "; " + here
	default:
		d.Hint = here
	}
}

// otherNumber reports whether one word is the plural of the other. A rank and all ranks are two things, and neither is
// a slip of the other.
func otherNumber(a, b string) bool { return a+"s" == b || b+"s" == a }

// namesHere lists the names that can be read, or called, where the compiler is: the innermost first. It also counts
// them.
func (c *compiler) namesHere(use nameUse) (text string, n int) {
	var list []string
	for s := c.scope; s != nil; s = s.outer {
		var names []*name
		for _, x := range s.names {
			function := x.sort == aFunction || x.sort == aBuiltin
			if function == (use == toCall) && (function || x.span.Line > 0) {
				names = append(names, x)
			}
		}
		slices.SortFunc(names, func(a, b *name) int {
			return cmp.Or(cmp.Compare(a.span.Offset, b.span.Offset), cmp.Compare(a.text, b.text))
		})
		for _, x := range names {
			list = append(list, c.described(x))
		}
	}
	if n = len(list); n > namesShown {
		list = append(list[:namesShown], "others")
	}
	what := "names"
	if use == toCall {
		what = "functions"
	}
	switch n {
	case 0:
		return "there are no " + what + " here yet", n
	case 1:
		return "the only name here is " + list[0], n
	}
	last := len(list) - 1
	return "the " + what + " here are " + strings.Join(list[:last], ", ") + " and " + list[last], n
}

// described is a name with what it is.
func (c *compiler) described(x *name) string {
	switch {
	case x.sort == aFunction || x.sort == aBuiltin:
		return x.text
	case x.sort == aLoop:
		return x.text + " (loop variable)"
	case x.sort == aVariable:
		return x.text + " (variable)"
	case x.kind == kBuffer:
		return x.text + " (scratch buffer)"
	case x.sort == aConstant:
		return x.text + " = " + c.m.text(x.slot) + " (parameter)"
	}
	return x.text + " (parameter)"
}
