// Package syntax parses the text of .mscl files into a [File], which is a tree. It also writes a tree as text, in the
// one format of `mscclc fmt`. Syntax errors are a diag.List, with hints for beginners. This package does not resolve
// names: package lang does.
//
// grammar.go is the tree. parse.go builds the parser from it with participle (GRAMMAR.ebnf). The parser reads one line
// at a time, so that one error hides no other. scan.go and number.go make tokens, and newline.go decides which newlines
// end a statement. habits.go recognises the syntax of other languages, and forms.go has examples of lines for hints.
package syntax

import (
	"sort"

	"mscclc/ir/diag"

	"github.com/alecthomas/participle/v2/lexer"
)

// A Node is what every part of the tree has: where it starts, and its tokens,
// comments included.
type Node struct {
	Pos    lexer.Position
	Tokens []lexer.Token
}

// program is the root of the grammar: the lines of a file. The parser takes
// one line at a time, so that several syntax errors can be reported.
type program struct {
	Lines []*line `parser:"@@? (End @@?)*"`
}

type line struct {
	Node
	Stmt Stmt `parser:"@@"`
}

// A Stmt is a declaration or a statement. Which may stand where is checked
// after parsing, for better messages.
type Stmt interface{ Base() *Node }

// An Algorithm is the first line of a file that is no library.
type Algorithm struct {
	Node
	Name   string   `parser:"'algorithm' @Ident"`
	Params []*Param `parser:"'(' (@@ ((?! ',' ')') ',' @@)* ','?)? ')'"`
}

// A Param is a parameter of an algorithm or a function.
type Param struct {
	Node
	Name    string `parser:"@Ident"`
	Default *Expr  `parser:"('=' @@)?"`
}

// A Collective says what must hold at the end.
type Collective struct {
	Node
	Kind *Name  `parser:"'collective' @@"`
	Args *Args  `parser:"@@"`
	Body *Block `parser:"@@?"`
}

// A Protocol is a line `protocol NAME`.
type Protocol struct {
	Node
	Name *Name `parser:"'protocol' @@"`
}

// Sizes is a line `sizes a..b`.
type Sizes struct {
	Node
	Min *Expr `parser:"'sizes' @@"`
	Max *Expr `parser:"'..' @@"`
}

// RanksPerNode is a line `ranks_per_node N`.
type RanksPerNode struct {
	Node
	N *Expr `parser:"'ranks_per_node' @@"`
}

// A Scratch declares a scratch buffer.
type Scratch struct {
	Node
	Name   *Name `parser:"'scratch' @@"`
	Chunks *Expr `parser:"'[' @@ ']'"`
}

// An Import is a line `import "FILE"`; Path still has its quotes.
type Import struct {
	Node
	Path string `parser:"'import' @String"`
}

// A Def is a function: an expression or a block.
type Def struct {
	Node
	Name   *Name    `parser:"'def' @@"`
	Params []*Param `parser:"'(' (@@ ((?! ',' ')') ',' @@)* ','?)? ')'"`
	Result *Expr    `parser:"( '=' @@"`
	Body   *Block   `parser:"| @@ )"`
}

// A Let declares a variable.
type Let struct {
	Node
	Name  *Name `parser:"'let' @@"`
	Value *Expr `parser:"'=' @@"`
}

// An If is a chain of conditions.
type If struct {
	Node
	Cond *Expr   `parser:"'if' @@"`
	Then *Block  `parser:"@@"`
	Elif []*Elif `parser:"((?= 'else' 'if') @@)*"`
	Else *Block  `parser:"('else' @@)?"`
}

// An Elif is one `else if`.
type Elif struct {
	Node
	Cond *Expr  `parser:"'else' 'if' @@"`
	Then *Block `parser:"@@"`
}

// A For runs its body for each value of its iterators, the first outermost.
type For struct {
	Node
	Iters []*Iter `parser:"'for' @@ (',' @@)*"`
	Body  *Block  `parser:"@@"`
}

// An Iter is `x in a..b by s if c` or, without To, `x in list if c`.
type Iter struct {
	Node
	Name *Name `parser:"@@ 'in'"`
	From *Expr `parser:"@@"`
	To   *Expr `parser:"('..' @@)?"`
	By   *Expr `parser:"('by' @@)?"`
	If   *Expr `parser:"('if' @@)?"`
}

// A Parallelize does the operations of its block in parts.
type Parallelize struct {
	Node
	N    *Expr  `parser:"'parallelize' '(' @@ ')'"`
	Body *Block `parser:"@@"`
}

// A Require is a line of a custom collective.
type Require struct {
	Node
	Cond *Expr `parser:"'require' @@"`
}

// A Return ends a function.
type Return struct {
	Node
	Value *Expr `parser:"'return' @@?"`
}

// A Simple is an assignment where it has a Value, else a bare expression: with
// a Body, a call of pipeline, which is no word of the grammar.
type Simple struct {
	Node
	X     *Expr  `parser:"@@"`
	Value *Expr  `parser:"(  '=' @@"`
	Body  *Block `parser:"| @@ )?"`
}

// A Block is statements in braces.
type Block struct {
	Node
	Stmts []Stmt `parser:"'{' @@? (End @@?)* '}'"`
}

// An Expr is operands and the binary operators between them, not yet grouped:
// the table of precedences does that (expr.go).
type Expr struct {
	Node
	Left *Unary    `parser:"@@"`
	Rest []*Binary `parser:"@@*"`
}

// A Binary is an operator and what follows it.
type Binary struct {
	Node
	Op    string `parser:"@Op"`
	Right *Unary `parser:"@@"`
}

// A Unary is an operand with its prefixes and suffixes.
type Unary struct {
	Node
	Ops      []string  `parser:"@('-' | '!')*"`
	X        Primary   `parser:"@@"`
	Suffixes []*Suffix `parser:"@@*"`
}

// A Primary is the innermost part of an operand.
type Primary interface{ Base() *Node }

// A Suffix is .Field, (Args) or [Index] or [Index..End].
type Suffix struct {
	Node
	Field *Name `parser:"(  '.' @@"`
	Args  *Args `parser:"| @@"`
	Index *Expr `parser:"| '[' @@"`
	End   *Expr `parser:"('..' @@)? ']' )"`
}

// Args are the arguments of a call.
type Args struct {
	Node
	List []*Arg `parser:"'(' (@@ ((?! ',' ')') ',' @@)* ','?)? ')'"`
}

// An Arg is one argument, with or without its name.
type Arg struct {
	Node
	Name  *Name `parser:"((?= Ident '=') @@ '=')?"`
	Value *Expr `parser:"@@"`
}

// A Name is a name.
type Name struct {
	Node
	Text string `parser:"@Ident"`
}

// An Int is an integer as it is written.
type Int struct {
	Node
	Text string `parser:"@Int"`
}

// A String is a string as it is written, in quotes.
type String struct {
	Node
	Text string `parser:"@String"`
}

// A Bool is true or false.
type Bool struct {
	Node
	Text string `parser:"@('true' | 'false')"`
}

// A Paren is an expression in parentheses.
type Paren struct {
	Node
	X *Expr `parser:"'(' @@ ')'"`
}

// A List is [a, b] or, with Iters, [e for x in ...].
type List struct {
	Node
	Items []*Expr `parser:"'[' (@@ ((?! ',' ']') ',' @@)*"`
	Iters []*Iter `parser:"('for' @@ ((?! ',' ']') ',' @@)*)? ','?)? ']'"`
}

// Base returns n itself: every part of the tree embeds a Node.
func (n *Node) Base() *Node { return n }

// Span is n's text, as far as its first line goes.
func (n *Node) Span() diag.Span {
	end := sort.Search(len(n.Tokens), func(i int) bool { return n.Tokens[i].Pos.Line > n.Pos.Line })
	for end--; end >= 0; end-- {
		if t := &n.Tokens[end]; t.Type != tComment && t.Type != tBlank {
			return diag.Span{Pos: diag.Pos(n.Pos), Len: max(1, t.Pos.Offset+len(t.Value)-n.Pos.Offset)}
		}
	}
	return diag.Span{Pos: diag.Pos(n.Pos), Len: 1}
}

// SpanTo covers the operand as far as its first n suffixes.
func (u *Unary) SpanTo(n int) diag.Span {
	s := diag.Span{Pos: diag.Pos(u.X.Base().Pos)}
	end := u.X.Base().Span()
	for _, x := range u.Suffixes[:n] {
		if next := x.Span(); next.Line == s.Line {
			end = next
		}
	}
	s.Len = end.Offset + end.Len - s.Offset
	return s
}

// OpSpan returns the text of b's operator.
func (b *Binary) OpSpan() diag.Span { return diag.Span{Pos: diag.Pos(b.Pos), Len: len(b.Op)} }
