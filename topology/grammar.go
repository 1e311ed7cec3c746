package topology

import (
	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"
)

// A file is a topology, a statement a line:
//
//	# DGX H100: 8 H100s behind NVSwitches, and a 400 Gb/s NIC for each.
//	topology dgx_h100(nodes = 1)
//	device h100
//	class nvlink 0.6us 370GB/s
//	class pcie 0.5us 50GB/s
//	class ib 2us 48GB/s network
//	node {
//	    gpu 8
//	    nic 8
//	    switch nvswitch
//	    link gpu[i] nvswitch nvlink
//	    link gpu[i] nic[i] pcie
//	}
//	switch rail 8
//	link nic[i] rail[i] ib
//
// The parameter nodes, and any other, is a number that a user may give. A class has its α and its β of one direction;
// one that is marked network joins nodes. What is in node's braces is there in each node. A group has as many members
// as it says, one where it says none; gpu and nic are groups whose names are known. A number in node's braces may have
// the number of the node in it, as in nic 2 - node, where nodes differ; all have equally many GPUs. A link is for every
// value of the one name in its first end's brackets, and both directions; its second end's brackets hold what that is
// linked to: a number made of that name, of node and of parameters, or *, which is all (but itself). `x 4` at its end
// are four side by side; a width with node in it may be 0, which is no link in that node. Links of one class between
// the same vertices are one link, as wide as all. In a node that lacks the member that a link leads to, and that other
// nodes have, it leads to the last one. With apart 1, GPUs do not reach each other's memory, and share the
// host's.
type file struct {
	Head  *head   `parser:"EOL* @@ EOL+"`
	Stmts []*stmt `parser:"@@*"`
}

type head struct {
	Pos    lexer.Position
	Name   string   `parser:"'topology' @Ident"`
	Params []*param `parser:"('(' (@@ (',' @@)*)? ')')?"`
}

type param struct {
	Pos   lexer.Position
	Name  string `parser:"@Ident"`
	Value *expr  `parser:"'=' @@"`
}

type stmt struct {
	Pos    lexer.Position
	Device string    `parser:"(  'device' @Ident EOL+"`
	Class  *classDef `parser:"| 'class' @@ EOL+"`
	Node   []*stmt   `parser:"| 'node' '{' EOL+ @@* '}' EOL+"`
	Apart  *expr     `parser:"| 'apart' @@ EOL+"`
	Group  *groupDef `parser:"| @@ EOL+"`
	Link   *linkDef  `parser:"| 'link' @@ EOL+ )"`
}

type classDef struct {
	Pos       lexer.Position
	Name      string  `parser:"@Ident"`
	Latency   measure `parser:"@@"`
	Bandwidth measure `parser:"@@"`
	Network   bool    `parser:"@'network'?"`
}

// A measure is a number with any unit or none, which the reader judges.
type measure struct {
	Pos  lexer.Position
	Text string `parser:"@(Quantity | Int)"`
}

type groupDef struct {
	Pos   lexer.Position
	Kind  string `parser:"(  @('gpu' | 'nic')"`
	Name  string `parser:"| 'switch' @Ident )"`
	Count *expr  `parser:"@@?"`
}

type linkDef struct {
	Pos   lexer.Position
	From  *end   `parser:"@@"`
	To    *end   `parser:"@@"`
	Class string `parser:"@Ident"`
	Width *expr  `parser:"('x' @@)?"`
}

type end struct {
	Pos   lexer.Position
	Group string `parser:"@(Ident | 'gpu' | 'nic')"`
	All   bool   `parser:"('[' (@'*'"`
	Index *expr  `parser:"| @@) ']')?"`
}

// An expr is a sum of products of ints and names, of which / rounds down.
type expr struct {
	Pos   lexer.Position
	First *product `parser:"@@"`
	Rest  []*sum   `parser:"@@*"`
}

type sum struct {
	Op      string   `parser:"@('+' | '-')"`
	Product *product `parser:"@@"`
}

type product struct {
	First *atom     `parser:"@@"`
	Rest  []*factor `parser:"@@*"`
}

type factor struct {
	Op   string `parser:"@('*' | '/' | '%')"`
	Atom *atom  `parser:"@@"`
}

type atom struct {
	Pos  lexer.Position
	Int  *int   `parser:"  @Int"`
	Name string `parser:"| @(Ident | 'node')"`
	Expr *expr  `parser:"| '(' @@ ')'"`
}

const keywords = `(topology|device|class|node|gpu|nic|switch|link|network|x)`

var parser = participle.MustBuild[file](
	participle.Lexer(lexer.MustSimple([]lexer.SimpleRule{
		{Name: "Comment", Pattern: `#[^\n]*`},
		{Name: "Quantity", Pattern: `\d+(\.\d+[A-Za-z/]*|[A-Za-z][A-Za-z/]*)`},
		{Name: "Int", Pattern: `\d+`},
		{Name: "Keyword", Pattern: `\b` + keywords + `\b`},
		{Name: "Ident", Pattern: `[A-Za-z_][A-Za-z0-9_]*`},
		{Name: "Punct", Pattern: `[-+*/%()\[\]{},=]`},
		{Name: "EOL", Pattern: `\n`},
		{Name: "Space", Pattern: `[ \t\r]+`},
	})),
	participle.Elide("Comment", "Space"),
	participle.UseLookahead(2),
)
