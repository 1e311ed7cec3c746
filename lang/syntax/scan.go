package syntax

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf8"

	"mscclc/files"
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
// it and goes on behind it.
type scanner struct {
	src    string
	pos    lexer.Position
	tokens []lexer.Token
	errs   diag.List
	limit  int          // bytes of a string
	open   map[int]bool // lines on which a string is not closed
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
		s.emit(tNewline, 1)
		s.pos.Line++
		s.pos.Column = 1
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
	if strings.HasPrefix(rest, "//") {
		d := s.fault(2, "// is neither an operator nor a comment")
		d.Hint = "comments start with #, and / already divides integers"
		s.skip(2)
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
		s.fault(1, "; is not needed").Hint = "remove it: a newline ends a statement"
	case rest[0] == '\'':
		s.fault(1, "' starts nothing").Hint = "strings are in double quotes"
	case r == '\uFEFF' && s.pos.Offset == 0: // a byte order mark
	default:
		line := s.src[:s.pos.Offset]
		line = line[strings.LastIndexByte(line, '\n')+1:]
		s.fault(n, "the character %q has no meaning here", r).Hint = strayHint(r, line)
	}
	s.skip(n)
}

func (s *scanner) comment(rest string) {
	n := strings.IndexByte(rest, '\n')
	if n < 0 {
		n = len(rest)
	}
	if n > 0 && rest[n-1] == '\r' {
		n--
	}
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

// number reads an integer: digits with single _ between them, and a suffix.
func (s *scanner) number(rest string) {
	n := wordLen(rest)
	if n+1 < len(rest) && rest[n] == '.' && isDigit(rest[n+1]) {
		n += 1 + wordLen(rest[n+1:])
		s.fault(n, "%s is not an integer", rest[:min(n, 40)]).Hint = "all numbers are integers; a / b rounds down"
		s.emit(tInt, n)
		return
	}
	if _, ok := ParseInt(rest[:n]); ok {
		s.emit(tInt, n)
		return
	}
	d := s.fault(n, "%s is no integer", rest[:min(n, 40)])
	if digits := strings.Trim(rest[:n], "0123456789_KMGkmgiB"); digits == "" {
		d.Hint = "integers have 64 bits, _ only between digits, and at most one suffix K, M or G, also as k, KB or KiB"
	} else {
		d.Hint = "integers are decimal, with a suffix K, M or G for powers of 1024"
	}
	s.emit(tInt, n)
}

// ParseInt reads an integer of the language.
func ParseInt(text string) (int64, bool) {
	text, shift := files.CutSizeUnit(text)
	if text == "" || text[0] == '_' || text[len(text)-1] == '_' {
		return 0, false
	}
	v := int64(0)
	for i := range len(text) {
		switch c := text[i]; {
		case isDigit(c):
			if v > (1<<63-1-int64(c-'0'))/10 {
				return 0, false
			}
			v = v*10 + int64(c-'0')
		case c != '_' || text[i-1] == '_':
			return 0, false
		}
	}
	if v > (1<<63-1)>>shift {
		return 0, false
	}
	return v << shift, true
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
