package epilogue

import (
	"fmt"
	"slices"
	"strings"

	"mscclc/ir/diag"
)

// MostBlock bounds the elements that share a scale.
const MostBlock = 1 << 20

// A Wrong says what is wrong with a list, and what mends it.
type Wrong struct{ Text, Hint string }

func (w *Wrong) Error() string {
	if w.Hint == "" {
		return w.Text
	}
	return w.Text + "; " + w.Hint
}

func wrong(hint, format string, args ...any) error { return &Wrong{fmt.Sprintf(format, args...), hint} }

// didYouMean is the hint that a word may be a slip of one of candidates, or else what.
func didYouMean(word string, candidates []string, what string) string {
	if near := diag.Nearest(word, candidates); near != "" {
		return "did you mean " + near + "?"
	}
	return what
}

func noStage(name string) error {
	return wrong(didYouMean(name, Names(), "the stages are "+strings.Join(Names(), ", ")), "there is no stage %.40s", name)
}

// Takes says what may stand in the parentheses of kind k.
func Takes(k Kind) string {
	may := strings.Join(Arguments(k), " or ")
	switch {
	case may == "":
		return Stages[k].Name + " takes nothing in parentheses"
	case Stages[k].Block:
		return fmt.Sprintf("%s takes %s in parentheses, and block = N may follow it", Stages[k].Name, may)
	}
	return fmt.Sprintf("%s takes %s in parentheses", Stages[k].Name, may)
}

// BadArgument says that `word` is no argument of kind k.
func BadArgument(k Kind, word string) error {
	may := Arguments(k)
	if Stages[k].Block {
		may = append(may, "block")
	}
	return wrong(didYouMean(word, may, Takes(k)), "%.40s is no argument of %s", word, Stages[k].Name)
}

// NewStage makes a stage of what its name and its parentheses say. argument is "" where there are none, and block 0
// where it is not given. The error names what may stand there.
func NewStage(name, argument string, block int64) (s Stage, err error) {
	kind, ok := ByName(name)
	if !ok {
		return s, noStage(name)
	}
	s = Stage{Kind: kind}
	may := Arguments(kind)
	switch {
	case argument == "" && len(may) > 0:
		return s, wrong("", "%s", Takes(kind))
	case argument != "" && !slices.Contains(may, argument):
		return s, BadArgument(kind, argument)
	case block != 0 && !s.Row().Block:
		return s, wrong(Takes(kind), "%s has no block", name)
	case block < 0 || block > MostBlock:
		return s, wrong("", "a block of %d elements is out of range: it has 1 to %d", block, MostBlock)
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
	_, err := l.CheckAt()
	return err
}

// CheckAt does as Check, and says which stage is wrong.
func (l List) CheckAt() (at int, err error) {
	if len(l) > MostStages {
		return MostStages, wrong("", "an epilogue has %d stages, of %d at most", len(l), MostStages)
	}
	seen := [NumKinds]bool{}
	for i, s := range l {
		switch {
		case s.Kind >= NumKinds || s.Fn >= NumFunctions || s.Row().Last && s.TypeOf() == nil:
			return i, wrong("", "there is no stage %s", s)
		case i > 0 && l[i-1].Row().Last:
			return i, wrong("", "%s changes the type of the elements, so that no stage can follow it", l[i-1].Row().Name)
		case seen[s.Kind]:
			return i, wrong("", "an epilogue has %s twice", s.Row().Name)
		}
		seen[s.Kind] = true
	}
	return 0, nil
}
