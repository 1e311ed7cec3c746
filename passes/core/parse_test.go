package core

import (
	"bytes"
	"fmt"
	"math/rand"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mscclc/ir"
	"mscclc/ir/irtest"
	"mscclc/ir/irtest/parse"
)

// parseState reads the text form of a State: of runs, or of Moves up to the pass group. What follows from the Moves
// alone, their dependences and depths, is made again.
func parseState(text string, opt Options) (*State, error) {
	var header, lines []string
	even := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		word, _, _ := strings.Cut(line, " ")
		switch {
		case line == "even":
			even = true
		case line == "" || line[0] == '#':
		case isItem(word):
			lines = append(lines, line)
		default:
			header = append(header, line+"\n")
		}
	}
	kind, name, _ := strings.Cut(strings.Join(header, ""), " ")
	c, err := parse.Chunks("state", []byte("chunks "+name))
	if err != nil {
		return nil, err
	}
	p := &stateParser{State: newState(c, opt), number: map[int32]int32{}}
	if p.even = p.even || even; kind == "moves" {
		p.moves = []oneMove{}
	}
	for _, line := range lines {
		if err := p.line(line); err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
	}
	p.finish()
	return p.State, nil
}

// isItem reports whether a line that begins with word is a run, a Move or a group.
func isItem(word string) bool {
	return strings.Contains(word, ":") || strings.HasPrefix(word, "m") && word != "moves" || word == "group"
}

// A stateParser reads the lines of runs, or of Moves and groups.
type stateParser struct {
	*State
	number map[int32]int32 // by Move: its name
	named  []int32         // Moves in the order of the lines
	starts []int           // by group: the line of its first Move
}

func (p *stateParser) line(line string) error {
	words := strings.Fields(line)
	if words[0] == "group" {
		p.starts = append(p.starts, len(p.named))
		return nil
	}
	rank, lane := int32(noRank), int32(0)
	name, isMove := strings.CutPrefix(words[0], "m")
	if isMove {
		at, err := strconv.Atoi(name)
		if err != nil || len(words) < 6 || words[1] != "rank" {
			return fmt.Errorf("it is no Move")
		}
		r, _ := strconv.Atoi(words[2])
		rank = int32(r)
		p.named = append(p.named, int32(at))
		if words = words[3:]; words[0] == "lane" {
			k, _ := strconv.Atoi(words[1])
			lane, words = int32(k), words[2:]
			p.lanes = max(p.lanes, lane+1)
		}
		words = words[1:]
	}
	m := oneMove{rank: rank, lane: lane, pos: -1}
	var first, second []spot
	hint := int32(0)
	list := &first
	for k := 0; k < len(words); k++ {
		switch w := words[k]; w {
		case "+":
		case "=", "->":
			list = &second
		case "class", "pos", "hint", "asks", "sees", "over", "packets":
			k++
			n, _ := strconv.Atoi(words[k])
			switch w {
			case "class":
				m.class = int32(n)
			case "hint":
				hint = int32(n)
			case "asks":
				m.label = int32(n) + 1
			}
		default:
			x, count, err := p.operand(w, rank)
			if err != nil {
				return err
			}
			*list, m.count = append(*list, x), max(m.count, count)
		}
	}
	if isMove {
		m.srcs, m.dsts = first, second
		p.moves = append(p.moves, m)
		return nil
	}
	p.runs = append(p.runs, oneRun{srcs: second, dst: first[0], count: m.count, class: m.class, pos: -1, hint: hint})
	return nil
}

// operand reads "1:packets[0]*2@port".
func (p *stateParser) operand(word string, rank int32) (x spot, count int32, err error) {
	x.rank = rank
	word, via, has := strings.Cut(word, "@")
	if has {
		ok := false
		if x.via, ok = ir.ViaByName(via); !ok {
			return x, 0, fmt.Errorf("%q is no way", via)
		}
	}
	if owner, rest, ok := strings.Cut(word, ":"); ok {
		word = rest
		if x.rank = ir.AllRanks; owner != "all" {
			n, err := strconv.Atoi(owner)
			if err != nil {
				return x, 0, err
			}
			x.rank = int32(n)
		}
	}
	name, rest, _ := strings.Cut(word, "[")
	index, times, _ := strings.Cut(rest, "]")
	bufs := []ir.Buf{ir.Input, ir.Output, ir.Scratch, ir.Packets}
	k := slices.IndexFunc(bufs, func(b ir.Buf) bool { return b.String() == name })
	n, err := strconv.Atoi(index)
	if k < 0 || err != nil {
		return x, 0, fmt.Errorf("%q is no operand", word)
	}
	x.buf, x.index, count = bufs[k], int32(n), 1
	if times != "" {
		n, err := strconv.Atoi(strings.TrimPrefix(times, "*"))
		if err != nil {
			return x, 0, err
		}
		count = int32(n)
	}
	return x, count, nil
}

// finish counts the places of scratch and packets, and puts Moves that are named in another order into their places.
func (p *stateParser) finish() {
	for _, m := range listed(p.State) {
		for _, x := range slices.Concat(m.srcs, m.dsts) {
			if !x.user() {
				p.slots = max(p.slots, x.index+m.count)
			}
		}
	}
	p.class = make([]int32, p.cells())
	if p.moves == nil {
		return
	}
	places := slices.Clone(p.named)
	sorted := slices.Sorted(slices.Values(places))
	if slices.Equal(sorted, places) && p.starts == nil {
		return
	}
	moves := make([]oneMove, len(p.moves))
	for k, i := range places {
		moves[i] = p.moves[k]
	}
	p.moves = moves
	depend(p.State)
	order(p.State) // for the depths
	p.order = places
	if p.starts != nil {
		p.groups = p.grouped(func(i, _ int32) bool { return !slices.Contains(p.starts, slices.Index(p.order, i)) })
	}
}

// stateText returns the text form of s without positions.
func stateText(t testing.TB, s *State) string {
	t.Helper()
	var b bytes.Buffer
	if err := s.WriteText(&b, false); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestStateText reads back what is written after each pass up to group: what follows is written of it again.
func TestStateText(t *testing.T) {
	read := 0
	for seed := range irtest.Count(t, 200) {
		rnd := rand.New(rand.NewSource(int64(seed)))
		c := irtest.Random(rnd, irtest.Config{})
		c.Protocol = ir.Protocol(rnd.Intn(int(ir.NumProtocols)))
		opt := Options{Even: true, Lanes: 1 + seed%3}
		opt.after = func(p *Pass, s *State, _ Property) error {
			if find(Table, p.Name) > find(Table, "group") {
				return nil
			}
			text := stateText(t, s)
			back, err := parseState(text, opt)
			if err != nil {
				return err
			}
			if s.deps.start != nil {
				depend(back)
			}
			if again := stateText(t, back); again != text {
				return fmt.Errorf("%s\nbecomes\n%s", text, again)
			}
			read++
			return nil
		}
		if _, err := Lower(c, opt); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	if read == 0 {
		t.Error("nothing was read")
	}
}
