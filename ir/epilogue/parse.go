package epilogue

import (
	"errors"
	"regexp"
	"strconv"
)

// Parse reads a list as a file of the language has it, with spaces as one likes: List.String writes the text that equal
// lists have. "" is a list of no stages.
func Parse(text string) (l List, err error) {
	p := &parser{rest: text}
	p.next()
	for p.token != "" {
		s, err := p.stage()
		if err != nil {
			return nil, err
		}
		if l = append(l, s); len(l) > MostStages {
			break // and Check says so
		}
		if !p.take(",") && p.token != "" {
			return nil, wrong("commas part the stages", "%.40q follows %s of an epilogue", p.token, s)
		}
	}
	return l, l.Check()
}

// A parser reads a text token by token: words, and single signs. The token is "" at the end.
type parser struct{ token, rest string }

var tokenRx = regexp.MustCompile(`^[ \t\r\n]*(\w+|[^ \t\r\n]|)`)

func (p *parser) next() {
	m := tokenRx.FindStringSubmatch(p.rest)
	p.token, p.rest = m[1], p.rest[len(m[0]):]
}

// take goes past a sign, and says whether it was there.
func (p *parser) take(sign string) bool {
	if p.token != sign {
		return false
	}
	p.next()
	return true
}

var wordRx = regexp.MustCompile(`^\w+$`)

// stage reads a stage.
func (p *parser) stage() (s Stage, err error) {
	name := p.token
	if _, ok := ByName(name); !ok {
		return s, noStage(name)
	}
	p.next()
	var argument string
	var block int64
	if p.take("(") {
		if argument, block, err = p.arguments(name); err != nil {
			return s, err
		}
	}
	return NewStage(name, argument, block)
}

// arguments reads what stands in the parentheses of a stage: a word, and block = N after it.
func (p *parser) arguments(name string) (argument string, block int64, err error) {
	kind, _ := ByName(name)
	for i := 0; !p.take(")"); i++ {
		switch {
		case p.token == "":
			return "", 0, errors.New("a parenthesis of an epilogue is not closed")
		case i == 0 && wordRx.MatchString(p.token):
			argument = p.token
			p.next()
		case i == 1 && p.token == "block":
			if p.next(); !p.take("=") {
				return "", 0, wrong("block = 128", "block lacks its number")
			}
			if block, err = number(p.token); err != nil {
				return "", 0, err
			}
			p.next()
		default:
			return "", 0, BadArgument(kind, p.token)
		}
		if !p.take(",") && p.token != ")" && p.token != "" {
			return "", 0, BadArgument(kind, p.token)
		}
	}
	return argument, block, nil
}

var numberRx = regexp.MustCompile(`^[1-9][0-9]*$`)

// number reads how many elements a block has. A zero in front would make two texts of one list.
func number(token string) (int64, error) {
	n, err := strconv.ParseInt(token, 10, 64)
	if err != nil || !numberRx.MatchString(token) {
		return 0, wrong("block = 128", "%.40q is no number of elements of a block", token)
	}
	return n, nil
}
