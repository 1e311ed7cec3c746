package syntax

import (
	"errors"
	"sort"
	"strings"
	"sync"

	"mscclc/ir/diag"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"
)

// MaxErrors is how many errors of one file are reported.
const MaxErrors = 20

// A File is one parsed file: its statements in order, and all of its tokens,
// comments included.
type File struct {
	Name   string
	Stmts  []Stmt
	Tokens []lexer.Token
}

// Parse reads one file. Its errors are a diag.List, of several syntax errors
// where there are several. Names mean nothing yet: lang.Expand resolves them.
// Several callers may share the tree, so nobody changes it.
func Parse(filename string, src []byte) (*File, error) {
	return ParseLimited(filename, src, Limits{})
}

// ParseLimited is Parse under other limits than the usual.
func ParseLimited(filename string, src []byte, lim Limits) (*File, error) {
	lim = lim.WithDefaults()
	if len(src) > lim.File {
		return nil, TooLong(filename, int64(len(src)), int64(lim.File))
	}
	return trees.get(filename, src, lim, func() (*File, error) { return parse(filename, src, lim) })
}

// parse is ParseLimited of a file that is not too long, anew.
func parse(filename string, src []byte, lim Limits) (*File, error) {
	tokens, errs, openString := scan(filename, string(src), lim)
	p := &lineReader{errs: errs, retries: freeRetries}
	t := newTerminator(tokens)
	p.tokens = t.retype()
	for _, e := range t.errs {
		if !openString[e.Span.Line] { // a string that is not closed swallows the brackets after it
			p.errs = append(p.errs, e)
		}
	}
	if t.deep > lim.Nesting {
		d := diag.New(diag.Limit, TokenSpan(&tokens[t.deepAt]), "brackets are nested %d deep; the limit nesting is %d",
			t.deep, lim.Nesting)
		p.errs = append(p.errs, d.WithHint("%s", diag.LimitHint("nesting", int64(t.deep))))
		return nil, Report(p.errs)
	}
	f := &File{Name: filename, Tokens: p.tokens, Stmts: p.file()}
	if len(p.errs) > 0 {
		return nil, Report(p.errs)
	}
	return f, nil
}

// TooLong returns the error of a file of more bytes than limit.
func TooLong(filename string, bytes, limit int64) error {
	d := diag.New(diag.Limit, diag.Span{Pos: diag.Pos{Filename: filename, Line: 1, Column: 1}},
		"the file has %d bytes; the limit file is %d", bytes, limit)
	return diag.List{d.WithHint("%s", diag.LimitHint("file", bytes))}
}

// Report makes the errors of a file what the caller sees.
func Report(list diag.List) error {
	list = list.Sort()
	return list[:min(len(list), MaxErrors)].Err()
}

// A lineReader parses a file a line at a time, where a line is what lies
// between two Ends outside of all braces.
type lineReader struct {
	tokens  []lexer.Token
	errs    diag.List
	parser  *participle.Parser[line]
	retries int // tokens that may still be parsed again
}

// freeRetries is how many tokens of any file may be parsed again after errors.
const freeRetries = 100_000

func (p *lineReader) file() []Stmt {
	bad := make([]int, 0, len(p.errs)) // where errors are known already, in order
	for i := range p.errs {
		bad = append(bad, p.errs[i].Span.Offset)
	}
	sort.Ints(bad)
	var stmts []Stmt
	depth, start := 0, 0
	_, p.parser = parsers()
	for i := range p.tokens {
		t := &p.tokens[i]
		switch {
		case t.Type == tPunct && t.Value == "{":
			depth++
		case t.Type == tPunct && t.Value == "}":
			depth = max(0, depth-1)
		case t.Type == lexer.EOF || t.Type == tEnd && depth == 0:
			if len(p.errs) >= MaxErrors {
				return nil
			}
			first := sort.SearchInts(bad, p.tokens[start].Pos.Offset)
			if first == len(bad) || bad[first] >= t.Pos.Offset && t.Type != lexer.EOF {
				if s := p.line(p.tokens[start:i], *t); s != nil {
					stmts = append(stmts, s)
				}
			}
			start = i + 1
		}
	}
	return stmts
}

// line parses one line. After a syntax error it takes out the innermost
// statement that has it and tries again, to find the next.
func (p *lineReader) line(tokens []lexer.Token, end lexer.Token) Stmt {
	eof := lexer.EOFToken(end.Pos)
	for {
		if !hasCode(tokens) {
			return nil
		}
		list := &tokenList{tokens: append(tokens[:len(tokens):len(tokens)], eof)}
		peek, err := lexer.Upgrade(list, tComment, tBlank)
		if err != nil {
			panic(err) // a tokenList has no errors
		}
		l, err := p.parser.ParseFromLexer(peek)
		if err == nil {
			return l.Stmt
		}
		at := p.syntaxError(err, tokens, eof)
		from, to := statementAt(tokens, at)
		p.retries -= len(tokens)
		if len(p.errs) >= MaxErrors || p.retries < 0 || to-from == 0 || from == 0 && to == len(tokens) {
			return nil
		}
		tokens = append(append([]lexer.Token(nil), tokens[:from]...), tokens[to:]...)
	}
}

func hasCode(tokens []lexer.Token) bool {
	for i := range tokens {
		if typ := tokens[i].Type; typ != tComment && typ != tBlank {
			return true
		}
	}
	return false
}

// statementAt finds the innermost statement that token at belongs to, or ends.
func statementAt(tokens []lexer.Token, at int) (from, to int) {
	starts := []int{0}
	for i := range tokens[:at] {
		switch t := &tokens[i]; {
		case t.Type == tPunct && t.Value == "{":
			starts = append(starts, i+1)
		case t.Type == tPunct && t.Value == "}" && len(starts) > 1:
			starts = starts[:len(starts)-1]
		case t.Type == tEnd:
			starts[len(starts)-1] = i + 1
		}
	}
	from = starts[len(starts)-1]
	depth := 0
	for to = from; to < len(tokens); to++ {
		switch t := &tokens[to]; {
		case t.Type == tPunct && t.Value == "{":
			depth++
		case t.Type == tPunct && t.Value == "}":
			if depth--; depth < 0 {
				return from, to
			}
		case t.Type == tEnd && depth == 0 && to >= at:
			return from, to
		}
	}
	return from, to
}

// syntaxError records err and returns the index of its token.
func (p *lineReader) syntaxError(err error, tokens []lexer.Token, eof lexer.Token) int {
	var perr participle.Error
	if !errors.As(err, &perr) {
		panic(err)
	}
	off := perr.Position().Offset
	at := sort.Search(len(tokens), func(i int) bool { return tokens[i].Pos.Offset >= off })
	tok := &eof
	if at < len(tokens) {
		tok = &tokens[at]
	}
	from, _ := statementAt(tokens, at)
	if d, ok := misspelt(tokens[from:at], tok); ok {
		p.errs = append(p.errs, d)
		return at
	}
	if d, ok := noValue(tokens[from:at], tok); ok {
		p.errs = append(p.errs, d)
		return at
	}
	span := TokenSpan(tok)
	span.Len = max(span.Len, 1)
	d := diag.New(diag.Syntax, span, "unexpected %s", tokenText(tok))
	want := expected(perr.Message())
	if want != "" {
		d.Text += ", expected " + want
	}
	d.Hint = syntaxHint(tokens[from:at], tok, want)
	p.errs = append(p.errs, d)
	return at
}

func tokenText(t *lexer.Token) string {
	switch {
	case t.Type == lexer.EOF || t.Type == tEnd:
		return "end of the line"
	case t.Type == tKeyword:
		return "keyword " + t.Value
	case len(t.Value) > 40:
		return t.Value[:40] + "..."
	}
	return t.Value
}

// expectedNames says in words what the grammar's rules begin with.
var expectedNames = map[string]string{
	"Expr": "an expression", "Unary": "an expression", "Primary": "an expression", "Name": "a name", "<ident>": "a name",
	"Block": "{", "Args": "(", "<string>": "a string in quotes", "<int>": "an integer", "Iter": "NAME in",
	"Param": "a name",
	"Arg":   "an argument",
}

// expected takes what was expected out of participle's message, which prints
// a piece of grammar: its first token or rule is what can be said in a word.
func expected(message string) string {
	_, rule, ok := strings.Cut(message, "(expected ")
	if !ok {
		return ""
	}
	first, _, _ := strings.Cut(strings.TrimLeft(strings.TrimSuffix(rule, ")"), "("), " ")
	if name, ok := expectedNames[strings.TrimRight(first, ")?*+")]; ok {
		return name
	}
	if lit := strings.Trim(first, `"`); len(lit) < len(first) {
		return lit
	}
	return ""
}

// parsers builds the parser of files, which GRAMMAR.ebnf is printed from, and
// that of lines, which does the work.
var parsers = sync.OnceValues(func() (*participle.Parser[program], *participle.Parser[line]) {
	file := participle.MustBuild[program](
		participle.Lexer(definition{}),
		participle.Elide("Comment", "Blank"),
		participle.UseLookahead(0),
		participle.Union[Stmt](&Algorithm{}, &Collective{}, &Protocol{}, &Sizes{}, &RanksPerNode{}, &Scratch{},
			&Import{}, &Def{}, &Let{}, &If{}, &For{}, &Parallelize{}, &Require{}, &Return{}, &Simple{}),
		participle.Union[Primary](&Name{}, &Int{}, &String{}, &Bool{}, &Paren{}, &List{}),
	)
	one, err := participle.ParserForProduction[line](file)
	if err != nil {
		panic(err)
	}
	return file, one
})
