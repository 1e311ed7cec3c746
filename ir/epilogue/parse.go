package epilogue

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MostBlock bounds the elements that share a scale.
const MostBlock = 1 << 20

// NewStage makes a stage of what its name and its parentheses say. argument is "" where there are none, and block 0
// where it is not given. The error names what may stand there.
func NewStage(name, argument string, block int64) (s Stage, err error) {
	kind, ok := ByName(name)
	if !ok {
		return s, fmt.Errorf("there is no stage %s: the stages are %s", name, strings.Join(Names(), ", "))
	}
	s = Stage{Kind: kind}
	may := Arguments(kind)
	switch {
	case len(may) == 0 && argument != "":
		return s, fmt.Errorf("%s takes nothing in parentheses", name)
	case len(may) > 0 && !slices.Contains(may, argument):
		return s, fmt.Errorf("%s takes %s in parentheses", name, strings.Join(may, " or "))
	case block != 0 && !s.Row().Block:
		return s, fmt.Errorf("%s has no block", name)
	case block < 0 || block > MostBlock:
		return s, fmt.Errorf("a block of %d elements is out of range: it has 1 to %d", block, MostBlock)
	}
	s.Block = int(block)
	switch s.Row().Argument {
	case "function":
		s.Fn = Function(slices.Index(Functions[:], argument))
	case "type":
		s.Type = argument
	}
	return s, nil
}

// Check reports what is wrong with l as a whole: too many stages, one of a kind twice, or stages after the last.
func (l List) Check() error {
	if len(l) > MostStages {
		return fmt.Errorf("an epilogue has %d stages, of %d at most", len(l), MostStages)
	}
	seen := [NumKinds]bool{}
	for i, s := range l {
		if s.Kind >= NumKinds || s.Fn >= NumFunctions || s.Row().Last && s.TypeOf() == nil {
			return fmt.Errorf("there is no stage %s", s)
		}
		if seen[s.Kind] {
			return fmt.Errorf("an epilogue has %s twice", s.Row().Name)
		}
		seen[s.Kind] = true
		if s.Row().Last && i < len(l)-1 {
			return fmt.Errorf("%s changes the type of the elements, so that no stage can follow it", s.Row().Name)
		}
	}
	return nil
}

// Parse reads what List.String writes, and "" as a list of no stages.
func Parse(text string) (l List, err error) {
	if text == "" {
		return nil, nil
	}
	for text != "" {
		s, rest, err := parseStage(text)
		if err != nil {
			return nil, err
		}
		l, text = append(l, s), rest
		if len(l) > MostStages {
			break // and Check says so
		}
	}
	return l, l.Check()
}

// parseStage reads the first stage of text, with the comma after it.
func parseStage(text string) (s Stage, rest string, err error) {
	end := strings.IndexAny(text, ",(")
	if end < 0 {
		s, err = NewStage(text, "", 0)
		return s, "", err
	}
	name, rest := text[:end], text[end:]
	var argument string
	var block int64
	if rest[0] == '(' {
		inside, after, ok := strings.Cut(rest[1:], ")")
		if !ok {
			return s, "", errors.New("a parenthesis of an epilogue is not closed")
		}
		rest = after
		var number string
		if argument, number, ok = strings.Cut(inside, ", block = "); ok {
			if block, err = strconv.ParseInt(number, 10, 32); err != nil || block == 0 {
				return s, "", fmt.Errorf("%.40q is no number of elements of a block", number)
			}
		}
	}
	if s, err = NewStage(name, argument, block); err != nil || rest == "" {
		return s, "", err
	}
	if rest, ok := strings.CutPrefix(rest, ", "); ok && rest != "" {
		return s, rest, nil
	}
	return s, "", fmt.Errorf("%.40q follows %s of an epilogue", rest, s)
}
