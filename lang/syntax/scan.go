package syntax

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf8"

	"mscclc/ir/diag"

	"github.com/alecthomas/participle/v2/lexer"
)

// The types of tokens. Newline is what the scanner says of every line's end;
// the layer above it (newline.go) makes it End, which ends a statement, or
// Blank, which the grammar does not see.
const (
	tIdent lexer.TokenType = lexer.EOF - 1 - iota
	tKeyword
	tInt
	tString
	tOp    // binary operators, of which - is unary too
	tPunct // ( ) [ ] { } , . .. = !
	tComment
	tEnd
	tBlank
	tNewline
)

var symbols = map[string]lexer.TokenType{
	"EOF": lexer.EOF, "Ident": tIdent, "Keyword": tKeyword, "Int": tInt, "String": tString, "Op": tOp, "Punct": tPunct,
	"Comment": tComment, "End": tEnd, "Blank": tBlank, "Newline": tNewline,
}

// keywords are the words that no name may be.
var keywords = map[string]bool{
	"algorithm": true, "collective": true, "protocol": true, "sizes": true, "ranks_per_node": true, "scratch": true,
	"import": true, "def": true, "return": true, "let": true, "if": true, "else": true, "for": true, "in": true,
	"by":          true,
	"parallelize": true, "require": true, "true": true, "false": true,
}

// operators in the order in which they are tried: the longer first.
var operators = []struct {
	text string
	typ  lexer.TokenType
}{
	{"..", tPunct}, {"&&", tOp}, {"||", tOp}, {"==", tOp}, {"!=", tOp}, {"<=", tOp}, {">=", tOp}, {"<<", tOp}, {">>", tOp},
	{"+", tOp}, {"-", tOp}, {"*", tOp}, {"/", tOp}, {"%", tOp}, {"<", tOp}, {">", tOp}, {"&", tOp}, {"|", tOp}, {"^", tOp},
	{"!", tPunct}, {"=", tPunct}, {"(", tPunct}, {")", tPunct}, {"[", tPunct}, {"]", tPunct}, {"{", tPunct}, {"}", tPunct},
	{",", tPunct}, {".", tPunct},
}

// A scanner cuts a file into tokens. It never stops at an error: it records
// it and goes on after it.
type scanner struct {
	src    string
	pos    lexer.Position
	tokens []lexer.Token
	errs   diag.List
	limit  int          // bytes of a string
	open   map[int]bool // lines on which a string is not closed

	counting int // the last line that has a loop as C has it
}

// scan cuts src into tokens, the last of which is EOF.
// The last result has the lines on which a string is not closed.
func scan(filename, src string, lim Limits) ([]lexer.Token, diag.List, map[int]bool) {
	s := &scanner{src: src, pos: lexer.Position{Filename: filename, Line: 1, Column: 1}, limit: lim.String,
		open: map[int]bool{}}
	s.tokens = make([]lexer.Token, 0, len(src)/3+8)
	for s.pos.Offset < len(src) && len(s.errs) < MaxErrors {
		s.next()
	}
	s.tokens = append(s.tokens, lexer.EOFToken(s.pos))
	return s.tokens, s.errs, s.open
}

func (s *scanner) next() {
	rest := s.src[s.pos.Offset:]
	switch c := rest[0]; {
	case c == ' ' || c == '\t':
		s.skip(1)
	case c == '\r' && strings.HasPrefix(rest, "\r\n"):
		s.skip(1)
	case c == '\n':
		s.newline()
	case c == '#':
		s.comment(rest)
	case c == '"':
		s.str(rest)
	case isDigit(c):
		s.number(rest)
	case isLetter(c):
		n := wordLen(rest)
		if keywords[rest[:n]] {
			s.emit(tKeyword, n)
		} else {
			s.emit(tIdent, n)
		}
	default:
		s.operator(rest)
	}
}

func (s *scanner) operator(rest string) {
	line := s.src[s.pos.Offset-s.pos.Column+1 : s.pos.Offset] // as far as here
	switch {
	case strings.HasPrefix(rest, "//"):
		s.slashes(line, rest)
		return
	case strings.HasPrefix(rest, "/*"):
		s.starComment(rest)
		return
	case startsFraction(line, rest):
		s.noInteger(1+wordLen(rest[1:]), rest)
		return
	}
	for _, op := range operators {
		if strings.HasPrefix(rest, op.text) {
			s.emit(op.typ, len(op.text))
			return
		}
	}
	r, n := utf8.DecodeRuneInString(rest)
	switch {
	case r == utf8.RuneError && n <= 1:
		s.fault(1, "the byte %#02x is not UTF-8", rest[0])
		for n < len(rest) && rest[n] >= utf8.RuneSelf {
			n++
		}
	case rest[0] == ';':
		s.semicolon(line)
	case rest[0] == '\'':
		s.fault(1, "' starts nothing").Hint = "strings are in double quotes"
	case r == '\uFEFF' && s.pos.Offset == 0: // a byte order mark
	default:
		s.fault(n, "the character %q has no meaning here", r).Hint = strayHint(r, line, firstLine(rest))
	}
	s.skip(n)
}

func (s *scanner) newline() {
	s.emit(tNewline, 1)
	s.pos.Line++
	s.pos.Column = 1
}

// firstLine is text as far as its first line goes.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimSuffix(line, "\r")
}

func (s *scanner) comment(rest string) {
	n := len(firstLine(rest))
	s.checkText(rest[:n])
	s.emit(tComment, n)
}

func (s *scanner) str(rest string) {
	n := strings.IndexAny(rest[1:], "\"\n")
	if n < 0 || rest[1+n] == '\n' {
		if n < 0 {
			n = len(rest) - 1
		}
		s.fault(len(strings.TrimRight(rest[:1+n], "\r")), "the string is not closed on its line").Hint = `write " at its end`
		s.open[s.pos.Line] = true
		s.skip(1 + n)
		return
	}
	if n > s.limit {
		d := s.fault(1, "the string has %d bytes; the limit string is %d", n, s.limit)
		d.Code, d.Hint = diag.Limit, MoreHint("string", int64(n))
	}
	s.checkText(rest[:n+2])
	s.emit(tString, n+2)
}

// checkText rejects what no comment and no string may hold.
func (s *scanner) checkText(text string) {
	if !utf8.ValidString(text) {
		s.fault(1, "the text is not UTF-8")
	}
	if i := strings.IndexFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }); i >= 0 {
		s.fault(1, "the text holds the control character %q", text[i])
	}
}

func (s *scanner) emit(typ lexer.TokenType, n int) {
	at := s.pos
	s.tokens = append(s.tokens, lexer.Token{Type: typ, Value: s.src[at.Offset : at.Offset+n], Pos: at})
	s.skip(n)
}

func (s *scanner) skip(n int) {
	s.pos.Offset += n
	s.pos.Column += n
}

// fault records an error at the next n bytes.
func (s *scanner) fault(n int, format string, args ...any) *diag.Diagnostic {
	s.errs = append(s.errs, diag.New(diag.Lexical, diag.Span{Pos: diag.Pos(s.pos), Len: n}, format, args...))
	return &s.errs[len(s.errs)-1]
}

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' }

func wordLen(s string) int {
	n := 0
	for n < len(s) && (isLetter(s[n]) || isDigit(s[n])) {
		n++
	}
	return n
}

// definition is the lexer.Definition that the grammar is built on.
type definition struct{}

// Symbols implements lexer.Definition.
func (definition) Symbols() map[string]lexer.TokenType { return symbols }

// Lex implements lexer.Definition: the scanner, and over it the newlines.
func (definition) Lex(filename string, r io.Reader) (lexer.Lexer, error) {
	var src bytes.Buffer
	if _, err := src.ReadFrom(r); err != nil {
		return nil, err
	}
	tokens, errs, _ := scan(filename, src.String(), Limits{}.WithDefaults())
	t := newTerminator(tokens)
	return &tokenList{tokens: t.retype()}, append(errs, t.errs...).Err()
}

// A tokenList is a lexer.Lexer over tokens that end with EOF.
type tokenList struct {
	tokens []lexer.Token
	next   int
}

// Next implements lexer.Lexer.
func (l *tokenList) Next() (lexer.Token, error) {
	t := l.tokens[l.next]
	if l.next < len(l.tokens)-1 {
		l.next++
	}
	return t, nil
}
