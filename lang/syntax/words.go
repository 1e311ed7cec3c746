package syntax

import (
	"slices"

	"mscclc/ir/diag"

	"github.com/alecthomas/participle/v2/lexer"
)

// A WordKind is what a Word is.
type WordKind uint8

// The kinds of words.
const (
	OtherWord WordKind = iota
	NameWord
	KeywordWord
	NumberWord
	StringWord
	OperatorWord
	PunctuationWord
	CommentWord
	LineEnd // the end of a line, whether or not it ends a statement
)

var wordKinds = map[lexer.TokenType]WordKind{
	tIdent: NameWord, tKeyword: KeywordWord, tInt: NumberWord, tString: StringWord, tOp: OperatorWord,
	tPunct: PunctuationWord, tComment: CommentWord, tNewline: LineEnd,
}

// A Word is a token of a file, as an editor sees it.
type Word struct {
	diag.Span
	Kind WordKind
	Text string
}

// Words cuts the text of a file into words. Text that is no word is left out, so that there are words of any text.
func Words(filename string, src []byte, lim Limits) []Word {
	lim = lim.WithDefaults()
	if len(src) > lim.File {
		return nil
	}
	tokens, _, _ := scan(filename, string(src), lim)
	words := make([]Word, 0, len(tokens))
	for i := range tokens {
		if t := &tokens[i]; t.Type != lexer.EOF {
			words = append(words, Word{TokenSpan(t), wordKinds[t.Type], t.Value})
		}
	}
	return words
}

// Keywords returns the words that no name may be, sorted.
func Keywords() (list []string) {
	for k := range keywords {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}
