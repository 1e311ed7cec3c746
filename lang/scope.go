package lang

import (
	"cmp"
	"slices"
	"strings"

	"mscclc/ir/diag"
	"mscclc/lang/syntax"
)

// A name is what a word in the source stands for.
type name struct {
	text string
	span diag.Span // where it was declared; zero for builtins
	sort nameSort
	kind kind   // of a variable or constant
	slot *value // of a variable; of a constant its value
	def  *function
	call builtin // of a builtin function
}

type nameSort uint8

const (
	aVariable nameSort = iota
	aLoop              // a loop variable
	aParam             // a parameter of a function
	aConstant          // a parameter of the algorithm, a buffer
	aFunction          // of the file or imported
	aBuiltin           // a function of the language
)

// fixed says why a name cannot be assigned.
var fixed = map[nameSort]string{
	aLoop: "a loop variable", aParam: "a parameter", aConstant: "a parameter", aFunction: "a function",
	aBuiltin: "a word of the language",
}

// A scope is the names of a block and of the blocks around it.
type scope struct {
	outer *scope
	names map[string]*name
}

func newScope(outer *scope) *scope { return &scope{outer: outer, names: map[string]*name{}} }

func (s *scope) lookup(text string) *name {
	for ; s != nil; s = s.outer {
		if n := s.names[text]; n != nil {
			return n
		}
	}
	return nil
}

// all lists the names that can be seen from s.
func (s *scope) all() []string {
	var list []string
	for ; s != nil; s = s.outer {
		for text := range s.names {
			list = append(list, text)
		}
	}
	return list
}

// declare adds a name to the innermost scope, or reports why it cannot be.
func (c *compiler) declare(n *name) {
	if c.universe.names[n.text] != nil {
		c.m.report(diag.Redefined, n.span, "%s is a word of the language and cannot be redefined", n.text)
		return
	}
	if old := c.scope.names[n.text]; old != nil {
		d := c.m.report(diag.Redefined, n.span, "%s is declared twice", n.text)
		*d = d.WithNote(old.span, "%s was declared here first", n.text)
		if n.sort == aVariable && old.sort == aVariable {
			d.Hint = "x = e without let assigns to a name that is declared already"
		}
		return
	}
	c.scope.names[n.text] = n
}

// resolve finds what a name stands for, or reports that it stands for nothing.
func (c *compiler) resolve(x *syntax.Name, use nameUse) *name {
	if n := c.scope.lookup(x.Text); n != nil {
		return n
	}
	d := c.m.report(diag.Undefined, x.Span(), "%s is not defined", x.Text)
	if span, top := c.topNames[x.Text]; top && c.fn == nil {
		d.Hint = "it is declared further down"
		return nil
	} else if top && c.fn.home.main {
		*d = d.WithNote(span, "this %s belongs to the file's statements", x.Text)
		d.Hint = "a function sees its parameters, the algorithm's parameters, scratch buffers and functions"
		return nil
	}
	if d.Code != "" {
		c.suggestName(d, x.Text, use)
	}
	return nil
}

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
	near := diag.Meant(text, c.scope.all())
	here, variables := c.namesHere(use)
	include := c.main.IncludeOf()
	switch {
	case near != "" && (variables < 2 || !otherNumber(text, near)):
		*d = d.WithHint("did you mean %s?", near).WithFix(text, near)
	case syntax.ForeignNames[text] != "":
		d.Hint = syntax.ForeignNames[text]
	case include != nil:
		*d = d.WithNote(syntax.TokenSpan(include), "this line is a comment")
		d.Hint = syntax.ImportHint
	case use == toAssign:
		d.Hint = "a variable is declared by let " + text + " = ..."
	case syntax.ForeignVariables[text] != "":
		d.Hint = syntax.ForeignVariables[text] + "; " + here
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

// described returns a name with what it is.
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
