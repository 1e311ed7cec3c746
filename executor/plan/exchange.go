package plan

import (
	"context"
	"encoding/json"
	"fmt"

	"mscclc/executor/exchange"
	"mscclc/executor/proof"
	"mscclc/kernels"
)

// This file is what the processes of a plan send each other.

// agree gives what all processes say, by number, or the first failure.
func (p *Plan) agree(ctx context.Context, says any, err error) ([]json.RawMessage, error) {
	text, failed := json.Marshal(says)
	if err == nil {
		err = failed
	}
	return exchange.Agree(ctx, p.x, json.RawMessage(text), err)
}

// A greeting is what processes compare before anything else.
type greeting struct {
	Program []byte // a hash of its tables and of what memory is made for
	Kernel  []byte // a hash of the kernel's sources, and so of all layouts
	Ranks   []int
	Node    []byte   // any text of the user's, which need not be UTF-8 as strings of JSON are
	Cards   []string // of each of Ranks, where its GPU has one: the PCI address
	Topic   uint64
}

// programHash is of all that ranks must have alike.
func (p *Plan) programHash() []byte {
	w := proof.NewHash()
	w.Collective(p.program().Coll)
	w.Numbers(int64(p.replicas), p.tile)
	p.kind.hash(w)
	sum := w.Sum()
	return sum[:]
}

// greet compares what is to be run, and by whom, and begins to listen. err is what
// has failed so far.
func (p *Plan) greet(ctx context.Context, node string, err error) error {
	topic := uint64(0)
	if p.x != nil && p.x.Index() == 0 {
		topic = p.x.NextTopic()
	}
	kernel := kernels.Hash()
	g := greeting{Kernel: kernel[:], Ranks: p.ranks, Node: []byte(node), Topic: topic, Cards: p.cards()}
	if err == nil {
		g.Program = p.programHash()
	}
	all, err := p.agree(ctx, g, err)
	if err != nil {
		return err
	}
	greetings := make([]greeting, len(all))
	for i, text := range all {
		if err := json.Unmarshal(text, &greetings[i]); err != nil {
			return fmt.Errorf("process %d: %w", i, err)
		}
	}
	if err := p.compare(greetings); err != nil {
		return err
	}
	p.nodes = newNodes(p.program().Coll.Ranks, greetings)
	p.card = map[int]string{}
	for i := range greetings {
		for k, r := range greetings[i].Ranks {
			if k < len(greetings[i].Cards) {
				p.card[r] = greetings[i].Cards[k]
			}
		}
	}
	if p.x != nil {
		of := p.nodes                 // which errors may have for longer than there is the plan
		p.x.Describe(of.where)        // for what is of no plan
		p.x = p.x.Described(of.where) // whatever plans come later
		p.topic = greetings[0].Topic
		p.deaf = p.x.Listen(p.topic, p.receive)
	}
	return nil
}

// compare sees that all processes run the same, and drive each rank once.
func (p *Plan) compare(all []greeting) error {
	driver, first := map[int]int{}, &all[0]
	for i := range all {
		g := &all[i]
		if string(g.Kernel) != string(first.Kernel) {
			return fmt.Errorf("processes 0 and %d are of different builds of mscclc", i)
		}
		if string(g.Program) != string(first.Program) {
			return fmt.Errorf("processes 0 and %d have different programs, replicas, tiles or slots", i)
		}
		for _, r := range g.Ranks {
			if other, ok := driver[r]; ok {
				return fmt.Errorf("processes %d and %d both drive rank %d", other, i, r)
			}
			driver[r] = i
		}
	}
	if n := p.program().Coll.Ranks; len(driver) != n {
		return fmt.Errorf("%d of %d ranks are driven, by %d processes", len(driver), n, len(all))
	}
	return nil
}

// swap gives every process the handles that all have by rank.
func (p *Plan) swap(ctx context.Context, handles map[int][]byte, err error) (map[int][]byte, error) {
	all, err := p.agree(ctx, handles, err)
	if err != nil {
		return nil, err
	}
	merged := map[int][]byte{}
	for i, text := range all {
		var of map[int][]byte
		if err := json.Unmarshal(text, &of); err != nil {
			return nil, fmt.Errorf("process %d: %w", i, err)
		}
		for r, h := range of {
			merged[r] = h
		}
	}
	return merged, nil
}
