package syntax

import (
	"fmt"
	"regexp"
	"strings"
)

// This file shows the forms of lines, for the hints of lines that lack a part of theirs, and passes over what other
// languages write as comments.

// commentHint says how a comment is written.
const commentHint = "comments start with #"

// forms has the form of each declaration, where NAME is the name that it declares.
var forms = map[string]string{
	"algorithm":      "algorithm NAME(ranks = 8)",
	"collective":     "collective NAME(ranks)",
	"protocol":       "protocol LL",
	"sizes":          "sizes 1K..1M",
	"ranks_per_node": "ranks_per_node 4",
	"scratch":        "scratch NAME[4]",
}

// formHint shows the form of the declaration that words begin, with the name that they give it.
func formHint(words []string) string {
	form, name := forms[words[0]], "NAME"
	if words[0] == "collective" {
		name = "allgather"
	}
	if len(words) > 1 && isLetter(words[1][0]) && !keywords[words[1]] {
		name = words[1]
	}
	return "the line is written " + strings.Replace(form, "NAME", name, 1)
}

// loopHint shows a loop whose variable is name.
func loopHint(name string) string { return fmt.Sprintf("a loop is written for %s in 0..4 { }", name) }

// OperatorHint says how a line goes on that begins with the operator op.
func OperatorHint(op string) string {
	return fmt.Sprintf("the line before is a statement of its own: put %s at its end, or the expression in ( )", op)
}

// countingLoop is the head of a loop of C as far as its first semicolon, with the name of its variable.
var countingLoop = regexp.MustCompile(`^\s*for\s*\(?\s*(?:\w+\s+)?(\w+)\s*=`)

// semicolon reports the one that stands after line, and of those of one counting loop the first.
func (s *scanner) semicolon(line string) {
	if s.counting == s.pos.Line {
		return
	}
	d := s.fault(1, "; is not needed")
	d.Hint = "remove it: a newline ends a statement"
	if loop := countingLoop.FindStringSubmatch(line); loop != nil {
		d.Hint, s.counting = loopHint(loop[1]), s.pos.Line
	}
}

// typedLet is a declaration of other languages, x := 3 or let x: int = 4, with its name and its value.
var typedLet = regexp.MustCompile(`^\s*(?:let\s+)?(\w+)\s*:[^=(]*=\s*([^=#][^#]{0,40}?)\s*(?:#|$)`)

// algorithmHint says that statements are not in a block of the algorithm.
const algorithmHint = "the algorithm line ends at its ): the other lines follow it, without a block around them"

// blockHint says where a block begins.
const blockHint = "a block begins on the line of its for, if or def: for i in 0..4 {"

// strayHint says what to write instead of a character that means nothing, where
// line is the text before it on its line, and rest the text from it on.
func strayHint(r rune, line, rest string) string {
	words := strings.Fields(line)
	back := ""
	if len(words) > 1 {
		back = words[len(words)-2]
	}
	switch declared := typedLet.FindStringSubmatch(line + rest); {
	case r == ':' && declared != nil && !keywords[declared[1]]:
		return fmt.Sprintf("a variable is declared by let %s = %s", declared[1], declared[2])
	case r == ':' && strings.Contains(line, "?"):
		return choiceHint
	case r == ':' && strings.Count(line, "[") > strings.Count(line, "]"):
		return "a part of a list is l[a..b]"
	case r == ':' && back == "lambda":
		return foreignStatements["fn"]
	case r == ':' && strings.HasPrefix(strings.TrimSpace(line), "for ") && len(rest) > 1 && rest[1] != ' ':
		return "a range is a..b, and " + loopHint("r")
	case r == ':' && strings.Contains(line, "range("):
		return "a range is a..b, and a block is in { }: for i in 0..4 { ... }"
	case r == ':' && strings.Count(line, "(") > strings.Count(line, ")"):
		return "a value is given by =, as in ranks = 4"
	case r == ':' && strings.HasPrefix(line, "algorithm "):
		return algorithmHint
	case r == ':' && len(words) > 0 && forms[words[0]] != "":
		return formHint(words)
	case r == ':':
		return "a block is in { }: for i in 0..4 { ... }"
	case r == '?':
		return choiceHint
	case r > 0x7f:
		return "names and operators are of ASCII letters, digits, _ and signs"
	}
	return ""
}

// slashes reports // at the head of rest, and passes over it, or over the whole line that it begins.
func (s *scanner) slashes(line, rest string) {
	s.fault(2, "// is neither an operator nor a comment").Hint = commentHint + ", and / already divides integers"
	if strings.TrimSpace(line) == "" {
		s.skip(len(firstLine(rest)))
	} else {
		s.skip(2)
	}
}

// starComment reports the comment of other languages that rest begins with, and passes over it.
func (s *scanner) starComment(rest string) {
	s.fault(2, "/* is neither an operator nor a comment").Hint = commentHint + " on each of their lines"
	comment := firstLine(rest)
	if text, _, closed := strings.Cut(rest, "*/"); closed {
		comment = rest[:len(text)+2]
	}
	for line := range strings.Lines(comment) {
		s.skip(len(firstLine(line)))
		if strings.HasSuffix(line, "\r\n") {
			s.skip(1)
		}
		if strings.HasSuffix(line, "\n") {
			s.newline()
		}
	}
}
