package explore

import (
	"math/rand"
	"testing"

	"mscclc/ir"
	"mscclc/ir/fifo"
)

// What is good stays good with more slots, with messages of more chunks, and
// where messages order memory; with packets, what is good with messages of whole
// steps too. A proof for the worst of a call's settings stands on it.
func TestMoreOnlyHelps(t *testing.T) {
	rnd := rand.New(rand.NewSource(4))
	good, narrow := 0, 0
	for n := range count(t, 1500) {
		p, opt := Random(rnd)
		if n%2 == 0 {
			p, opt = Broken(rnd, p, opt)
		}
		opt.Moves = 20_000
		if v, err := Reduced(p, opt); err != nil || !v.Good() {
			continue
		}
		if whole := opt; !p.Protocol.Releases() {
			whole.MessageChunks = ir.MaxMessageChunks
			if v, err := Reduced(p, whole); err != nil || !v.Good() {
				narrow++
				continue
			}
		}
		good++
		simple := *p
		simple.Protocol = ir.Simple
		for name, more := range map[string]struct {
			p      *fifo.Program
			slots  int
			chunks int
		}{
			"one slot more":              {p, opt.Slots + 1, opt.MessageChunks},
			"one chunk a message more":   {p, opt.Slots, opt.MessageChunks + 1},
			"two chunks a message more":  {p, opt.Slots, opt.MessageChunks + 2},
			"whole steps":                {p, opt.Slots, ir.MaxMessageChunks},
			"messages that order memory": {&simple, opt.Slots, opt.MessageChunks},
		} {
			o := opt
			o.Slots, o.MessageChunks = more.slots, more.chunks
			if v, err := Reduced(more.p, o); err != nil || !v.Good() {
				t.Fatalf("%+v, and %s: %v %v\n%s", opt, name, v, err, programText(p))
			}
		}
	}
	t.Logf("%d good programs; %d are so only where packets come message by message", good, narrow)
	if good < 300 {
		t.Error("too few to say anything")
	}
}
