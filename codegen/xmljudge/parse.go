package xmljudge

import (
	"fmt"
	"strconv"
	"strings"
)

// A node is an element as the runtimes' readers keep it.
type node struct {
	name  string
	line  int
	keys  []string
	vals  []string
	nodes []node
}

// parser takes exactly what the runtimes' readers take for granted: a name
// after <, attributes each after one space as key="value", / only before >,
// and spaces and line ends alone between elements.
type parser struct {
	src  string
	at   int
	line int
}

type syntaxError struct {
	line int
	text string
}

func (p *parser) fail(format string, args ...any) {
	panic(syntaxError{p.line, fmt.Sprintf(format, args...)})
}

// parse returns the top elements of src.
func parse(src string) (top []node, bad *Problem) {
	defer func() {
		if r := recover(); r != nil {
			e, ours := r.(syntaxError)
			if !ours {
				panic(r)
			}
			bad = &Problem{e.line, e.text}
		}
	}()
	p := &parser{src: src, line: 1}
	for {
		n, closing := p.element(1)
		switch {
		case closing != "":
			p.fail("</%s> closes nothing", closing)
		case n == nil:
			return top, nil
		}
		top = append(top, *n)
	}
}

func (p *parser) byte() byte {
	if p.at >= len(p.src) {
		p.fail("the file ends inside an element")
	}
	c := p.src[p.at]
	p.at++
	return c
}

// element reads one element with all in it, or a closing tag's name, or
// nothing at the end of the file.
func (p *parser) element(depth int) (*node, string) {
	if depth > 6 {
		p.fail("elements are nested too deeply")
	}
	for p.at < len(p.src) && strings.IndexByte(" \n\r", p.src[p.at]) >= 0 {
		if p.src[p.at] == '\n' {
			p.line++
		}
		p.at++
	}
	if p.at == len(p.src) {
		return nil, ""
	}
	if c := p.byte(); c != '<' {
		p.fail("expected <, got %q", c)
	}
	if strings.HasPrefix(p.src[p.at:], "!--") {
		p.comment()
		return p.element(depth)
	}
	if p.at < len(p.src) && p.src[p.at] == '/' {
		p.at++
		name := p.word(">")
		return nil, name
	}
	n := &node{line: p.line, keys: make([]string, 0, 10), vals: make([]string, 0, 10)}
	if n.name = p.word(" >/"); n.name == "" {
		p.fail("expected a name after <")
	}
	if p.attributes(n) {
		return n, ""
	}
	for {
		child, closing := p.element(depth + 1)
		switch {
		case child != nil:
			n.nodes = append(n.nodes, *child)
			continue
		case closing == n.name:
			return n, ""
		case closing == "":
			p.fail("<%s> of line %d has no end", n.name, n.line)
		}
		p.fail("</%s> stands where </%s> is due", closing, n.name)
	}
}

// word reads letters, digits and _ up to one of ends, which it consumes only
// where it is the only one.
func (p *parser) word(ends string) string {
	start := p.at
	for {
		c := p.byte()
		if strings.IndexByte(ends, c) >= 0 {
			w := p.src[start : p.at-1]
			if len(ends) > 1 {
				p.at--
			}
			return w
		}
		if c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			p.fail("unexpected %q in a name", c)
		}
	}
}

// attributes reads up to the tag's end and says whether the element is empty.
func (p *parser) attributes(n *node) bool {
	for {
		switch c := p.byte(); c {
		case '>':
			return false
		case '/':
			if c := p.byte(); c != '>' {
				p.fail("expected > after /, got %q", c)
			}
			return true
		case ' ':
			n.keys = append(n.keys, p.word("="))
			if c := p.byte(); c != '"' {
				p.fail("expected a quote, got %q", c)
			}
			end := strings.IndexByte(p.src[p.at:], '"')
			if end < 0 || strings.IndexByte(p.src[p.at:p.at+end], '\n') >= 0 {
				p.fail("a value has no end on its line")
			}
			n.vals = append(n.vals, p.src[p.at:p.at+end])
			p.at += end + 1
		default:
			p.fail("expected one space, / or >, got %q", c)
		}
	}
}

// comment skips a comment, whose first word may hold no =.
func (p *parser) comment() {
	for i := p.at; i < len(p.src) && p.src[i] != ' '; i++ {
		if p.src[i] == '=' {
			p.fail("a comment begins with a word with = in it")
		}
	}
	end := strings.Index(p.src[p.at:], "-->")
	if end < 0 {
		p.fail("a comment has no end")
	}
	p.line += strings.Count(p.src[p.at:p.at+end], "\n")
	p.at += end + len("-->")
}

// text returns the attribute key of n, which must be there once.
func (j *judge) text(n *node, key string) string {
	value, count := "", 0
	for i, k := range n.keys {
		if k == key {
			value = n.vals[i]
			count++
		}
	}
	if count != 1 {
		j.say(n.line, "<%s> has attribute %s %d times", n.name, key, count)
	}
	return value
}

func (n *node) has(key string) bool {
	for _, k := range n.keys {
		if k == key {
			return true
		}
	}
	return false
}

// num returns the attribute key of n as a decimal number: the readers would take
// leading zeros for octal and ignore what follows a number.
func (j *judge) num(n *node, key string) int {
	s := j.text(n, key)
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil || strconv.FormatInt(v, 10) != s {
		j.say(n.line, "%s is %q, no plain number", key, s)
		return -1 << 40
	}
	return int(v)
}
