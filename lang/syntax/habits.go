package syntax

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"mscclc/ir/diag"

	"github.com/alecthomas/participle/v2/lexer"
)

// This file knows the slips that people make and the habits that they bring
// from other languages, and says what to write instead.

// ImportHint says how a file is imported.
const ImportHint = `a library's functions are imported by import "FILE.mscl"`

// choiceHint says what takes the place of an expression that chooses a value.
const choiceHint = "a value is chosen by a statement: let x = 0, and on the next line if c { x = 1 }"

// whileHint says which loops take the place of while.
const whileHint = "there is no while: write for d in [1, 2, 4] { }; if ranks is a power of two, for k in 0..log2(ranks) { let d = 1 << k } " +
	"doubles d, without a let d before the loop"

// foreignStatements are the words by which statements begin elsewhere.
var foreignStatements = map[string]string{
	"while":    whileHint,
	"foreach":  "a loop is written for x in list { }",
	"from":     ImportHint,
	"include":  ImportHint,
	"using":    ImportHint,
	"elif":     "elif is written else if",
	"elsif":    "elsif is written else if",
	"elseif":   "elseif is written else if",
	"assert":   `assert is a call: assert(ranks > 1, "text")`,
	"fn":       "a function is written def f(a, b) { }",
	"function": "a function is written def f(a, b) { }",
	"func":     "a function is written def f(a, b) { }",
	"fun":      "a function is written def f(a, b) { }",
	"var":      "a variable is declared by let x = 1",
	"const":    "a variable is declared by let x = 1",
	"int":      "a variable is declared by let x = 1",
	"auto":     "a variable is declared by let x = 1",
}

// ForeignNames are the names that other languages and other tools have for
// what is called otherwise here.
var ForeignNames = map[string]string{
	"range":     "a range is a..b: for i in 0..4 { }",
	"i":         "a rank's input is called input",
	"o":         "a rank's output is called output",
	"out":       "a rank's output is called output",
	"s":         "a buffer of one's own is declared by scratch NAME[chunks]",
	"print":     "there is no print: mscclc show FILE chunks shows what an algorithm does",
	"int":       "all numbers are integers; a / b rounds down",
	"float":     "all numbers are integers; a / b rounds down",
	"str":       "there is no function that makes strings",
	"list":      "[r for r in 0..4] is the list of a range",
	"sum":       "reduce([c, d], rank, buffer, index) reduces chunks; numbers are added in a loop",
	"math":      "there is no module math: log2, min, max and abs are functions",
	"ceil":      "a / b rounded up is (a + b - 1) / b",
	"sorted":    "a list keeps the order in which it was made",
	"pass":      "an empty block is { }",
	"append":    "l = l + [x] appends",
	"Buffer":    "a buffer is named without Buffer: input, output",
	"XML":       "mscclc compile writes the program, and verify proves it",
	"Check":     "mscclc compile writes the program, and verify proves it",
	"enumerate": "for i in 0..len(list) { let x = list[i] } has both",
	"None":      "there is no null value",
	"null":      "there is no null value",
	"True":      "true and false are lower case",
	"False":     "true and false are lower case",
	"pow":       "a power of two is written 1 << n",
	"floor":     "division floors: a / b",
	"break":     "there is no break: a loop takes all of its values; for r in 0..ranks if c { } leaves values out",
	"continue":  "there is no continue: for r in 0..ranks if c { } leaves values out",
	"send":      "chunk(...).copy(rank, buffer, index) moves a chunk",
	"recv":      "chunk(...).copy(rank, buffer, index) moves a chunk; the receiver writes nothing",
}

// ForeignVariables are the variables that other tools have.
var ForeignVariables = map[string]string{
	"size":   "the number of ranks is a parameter of the algorithm, often called ranks",
	"nranks": "the number of ranks is a parameter of the algorithm, often called ranks",
	"rank":   "a file describes all ranks at once, so a loop gives each rank a name",
}

// ForeignCollectives are the operations of other tools that are no collectives here.
var ForeignCollectives = map[string]string{
	"barrier": "a barrier moves no data, and has no collective here: an allreduce of a few bytes makes every rank wait for all others",
	"send":    "sendrecv(ranks, peer = [1, 0]) has each rank send to its peer",
	"recv":    "sendrecv(ranks, peer = [1, 0]) has each rank send to its peer",
}

// misspelt says that a statement begins with a word that is no keyword, where
// the second word, tok, shows that a keyword was meant. before are the tokens of
// the statement before tok.
func misspelt(before []lexer.Token, tok *lexer.Token) (diag.Diagnostic, bool) {
	var first *lexer.Token
	for i := range before {
		if before[i].Type == tComment || before[i].Type == tBlank {
			continue
		}
		if first != nil {
			return misspeltElse(&before[len(before)-1], tok)
		}
		first = &before[i]
	}
	if first == nil && tok.Type == tIdent {
		first = tok // } esle {
	} else if first == nil || first.Type != tIdent ||
		!slices.Contains([]lexer.TokenType{tIdent, tKeyword, tInt, tString}, tok.Type) {
		return diag.Diagnostic{}, false
	}
	d := diag.New(diag.Syntax, TokenSpan(first), "%s is not a keyword", tokenText(first))
	if hint := KeywordHint(first.Value, statementKeywords); hint != "" {
		return d.WithHint("%s", hint).WithFix(first.Value, meantKeyword(first.Value, statementKeywords)), true
	}
	return d.WithHint("a statement begins with a keyword (%s), or is a call or an assignment",
		strings.Join(statementKeywords, ", ")), first != tok
}

// misspeltElse says that tok, after the block that prev closes, is no else.
func misspeltElse(prev, tok *lexer.Token) (d diag.Diagnostic, ok bool) {
	hint := KeywordHint(tok.Value, []string{"else"})
	if prev.Value != "}" || tok.Type != tIdent || hint == "" {
		return d, false
	}
	return diag.New(diag.Syntax, TokenSpan(tok), "%s is not a keyword", tok.Value).WithHint("%s", hint).
		WithFix(tok.Value, meantKeyword(tok.Value, []string{"else"})), true
}

// KeywordHint says what to write instead of word where one of the keywords was meant, or returns "".
func KeywordHint(word string, among []string) string {
	lower := strings.ToLower(word)
	if hint := foreignStatements[word]; hint != "" {
		return hint
	}
	if slices.Contains(among, lower) {
		return "keywords are lower case: " + lower
	}
	if near := diag.Nearest(lower, among); near != "" {
		return "did you mean " + near + "?"
	}
	return ""
}

// meantKeyword returns the keyword that word is a slip of, or word.
func meantKeyword(word string, among []string) string {
	lower := strings.ToLower(word)
	if foreignStatements[word] != "" {
		return word
	}
	if near := diag.Nearest(lower, among); near != "" && !slices.Contains(among, lower) {
		return near
	} else if slices.Contains(among, lower) {
		return lower
	}
	return word
}

// BlockKeywords are the words that a statement with a block begins with.
var BlockKeywords = []string{"if", "else", "for", "parallelize", "def", "pipeline"}

// noValue says that a let has no value, where its line ends after = and tok is on another line. before are the tokens
// of the statement before tok.
func noValue(before []lexer.Token, tok *lexer.Token) (diag.Diagnostic, bool) {
	code := slices.DeleteFunc(slices.Clone(before), func(t lexer.Token) bool {
		return t.Type == tComment ||
			t.Type == tBlank
	})
	atEnd := tok.Type == tEnd || tok.Type == lexer.EOF
	if len(code) != 3 || code[0].Value != "let" || code[2].Value != "=" || !atEnd && tok.Pos.Line == code[2].Pos.Line {
		return diag.Diagnostic{}, false
	}
	span := TokenSpan(&code[0])
	if code[2].Pos.Line == span.Line {
		span.Len = code[2].Pos.Offset + 1 - span.Offset
	}
	d := diag.New(diag.Syntax, span, "%s needs a value", code[1].Value)
	return d.WithHint("let %s = 0 gives it one", code[1].Value), true
}

// statementKeywords are the keywords that a statement or a declaration begins with.
var statementKeywords = []string{"algorithm", "collective", "protocol", "sizes", "ranks_per_node", "scratch", "import",
	"def", "return", "let", "if", "else", "for", "parallelize", "require"}

// syntaxHint says what to write instead where a statement, of which before are the tokens
// before tok, goes wrong at tok and want was expected.
func syntaxHint(before []lexer.Token, tok *lexer.Token, want string) string {
	var words []string // the values of the tokens before tok, without comments
	for i := range before {
		if typ := before[i].Type; typ != tComment && typ != tBlank {
			words = append(words, before[i].Value)
		}
	}
	back := func(n int) string {
		if n > len(words) {
			return ""
		}
		return words[len(words)-n]
	}
	prev, first := back(1), ""
	if len(words) > 0 {
		first = words[0]
	}
	atEnd, text := tok.Type == tEnd || tok.Type == lexer.EOF, strings.Join(words, " ")
	switch {
	case tok.Type == tKeyword && slices.Contains([]string{"let", "def", "for", "scratch", "algorithm"}, prev):
		return fmt.Sprintf("%s is a word of the language and cannot be a name", tok.Value)
	case tok.Value == "scratch" && tok.Type == tKeyword:
		return "scratch NAME[chunks] on a line of its own declares a buffer; name that buffer here"
	case tok.Value == "if" && tok.Type == tKeyword && prev != "":
		return choiceHint
	case tok.Value == "is":
		return "is is written =="
	case tok.Value == "," && want == "=" && first == "let":
		return "each variable has a let of its own"
	case tok.Value == "=" && prev != "" && strings.Contains("+-*/%&|^", prev):
		return fmt.Sprintf("there is no %s=: write x = x %s ...", prev, prev)
	case tok.Value == "-" && slices.Contains([]string{"let", "def", "scratch", "algorithm"}, back(2)):
		return "a name is of letters, digits and _"
	case first == "algorithm" && tok.Value == "{" && prev == ")":
		return algorithmHint
	case first == "for" && len(words) == 2 && want == "in":
		return loopHint(prev)
	case first == "for" && len(words) == 1 && tok.Value == "(":
		return loopHint("r") + ", without ( )"
	case first == "for" && tok.Value == "step":
		return "the step of a range is written by: for r in 0..8 by 2 { }"
	case (tok.Value == "=" || tok.Value == ".") && prev == "..":
		return fmt.Sprintf("there is no ..%s: a..b ends before b, so 0..4 is 0 to 3", tok.Value)
	case tok.Value == ".." && want == "]":
		return "a range is no list: for r in 0..4 { } runs over it, and [r for r in 0..4] is its list"
	case tok.Value == "=" && want == "{":
		return "== compares: if a == b { }"
	case tok.Value == "in" && want == "an expression":
		return ForeignNames["i"]
	case tok.Value == "*" && prev == "*":
		return "there is no **: a power of two is written 1 << n"
	case len(words) == 0 && tok.Value == "{" || atEnd && want == "{":
		return blockHint
	case len(words) == 0 && tok.Value == "%":
		return commentHint + "; if % is an operator, put it at the end of the line before"
	case len(words) == 0 && tok.Type == tOp:
		return OperatorHint(tok.Value)
	case tok.Value == "+" && prev == "+" && len(words) == 2:
		return fmt.Sprintf("there is no ++: write %s = %s + 1", first, first)
	case forms[first] != "" && strings.Count(text, "(") == strings.Count(text, ")"):
		return formHint(words)
	case atEnd && back(2) == "let":
		return fmt.Sprintf("let needs a value: let %s = 0", prev)
	case atEnd && prev == "let":
		return "let needs a name and a value: let x = 0"
	case atEnd:
		return "a line goes on after an operator, a comma or = and inside brackets"
	case prev == "and" || tok.Value == "and":
		return "and is written &&"
	case prev == "or" || tok.Value == "or":
		return "or is written ||"
	case prev == "not" || back(2) == "not":
		return "not is written !"
	case tok.Value == "elif" || prev == "elif":
		return foreignStatements["elif"]
	case prev == "import":
		return `a library is named by its file, in quotes: import "FILE.mscl"`
	}
	return ""
}

var includeComment = regexp.MustCompile(`^#\s*include\s*["<]`)

// IncludeOf returns the comment of a file that was meant to import something, or nil.
func (f *File) IncludeOf() *lexer.Token {
	for i := range f.Tokens {
		if t := &f.Tokens[i]; t.Type == tComment && includeComment.MatchString(t.Value) {
			return t
		}
	}
	return nil
}
