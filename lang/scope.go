package lang

import "mscclc/ir/diag"

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
	aLoop: "a loop variable", aParam: "a parameter", aConstant: "a parameter", aFunction: "a function", aBuiltin: "a word of the language",
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
func (c *compiler) resolve(x *Name, use nameUse) *name {
	if n := c.scope.lookup(x.Text); n != nil {
		return n
	}
	d := c.m.report(diag.Undefined, x.span(), "%s is not defined", x.Text)
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
