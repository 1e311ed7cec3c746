package explore

import (
	"fmt"
	"strings"
	"testing"

	"mscclc/ir/irtest/parse"
)

// roundTrip is one whose block 0.1 overwrites what block 0.0 has sent, once
// rank 1 has answered: nothing but messages orders the two.
const roundTrip = `program x
collective custom ranks=2 chunks=2 in=2 out=2
PROTOCOL
even
block 0.0 send 1 ch 0
  0 s input[0]*2
block 0.1 recv 1 ch 0
  0 r input[0]*2
block 1.0 send 0 recv 0 ch 0
  0 rcs output[0]*2
`

// exchange has both ranks send two messages before they receive.
const exchange = `program x
collective sendrecv ranks=2 chunks=2 peer=1,0
even
block 0.0 send 1 recv 1 ch 0
  0 s input[0]*2
  1 r output[0]*2
block 1.0 send 0 recv 0 ch 0
  0 s input[0]*2
  1 r output[0]*2
`

// flagged has block 0.1 read what block 0.0 has received.
const flagged = `program x
collective custom ranks=2 chunks=2 in=2 out=2
require 0 output[1] = 1 input[0]
scratch 2
even
block 0.0 recv 1 ch 0
  0 r scratch[0] hasdep
  1 cpy input[1] => output[0]
block 0.1 ch 0
  0 cpy scratch[0] => output[1] dep 0.0
block 1.0 send 0 ch 0
  0 s input[0]
`

// Small programs of which it is plain what is wrong with them.
func TestKinds(t *testing.T) {
	for _, c := range []struct {
		name, text string
		edit       []string // pairs: old, new
		opt        Options
		want       string
	}{
		{"round trip", roundTrip, nil, Options{}, "[]"},
		{"round trip of packets", roundTrip, []string{"PROTOCOL", "protocol LL"}, Options{Slots: 8}, "[]"},
		{"round trip of one message", roundTrip, []string{"PROTOCOL", "protocol LL"}, Options{MessageChunks: 2}, "[]"},
		{"packets of one chunk say nothing of another", roundTrip, []string{"PROTOCOL", "protocol LL", "0 r input[0]*2", "0 r input[1]*2", "chunks=2", "chunks=3", "in=2 out=2", "in=3 out=3"}, Options{MessageChunks: 2}, "[race]"},
		{"a message does", roundTrip, []string{"0 r input[0]*2", "0 r input[1]*2", "chunks=2", "chunks=3", "in=2 out=2", "in=3 out=3"}, Options{MessageChunks: 2}, "[]"},
		{"the answer to one message says nothing of the next", roundTrip, []string{"0 r input[0]*2", "0 r input[1]\n  1 r input[0]", "0 rcs output[0]*2", "0 rcs output[0]\n  1 rcs output[1]", "0 s input[0]*2", "0 s input[0]\n  1 s input[1]"}, Options{}, "[race]"},
		{"a read after packets is not ordered", roundTrip, []string{"PROTOCOL", "protocol LL", "0 s input[0]*2", "0 cpy input[1] => output[0]\n  1 s input[0]*2", "0 r input[0]*2", "0 r input[0]*2\n  1 cpy output[0] => output[1]"}, Options{Slots: 8}, "[race]"},
		{"but after plain messages it is", roundTrip, []string{"0 s input[0]*2", "0 cpy input[1] => output[0]\n  1 s input[0]*2", "0 r input[0]*2", "0 r input[0]*2\n  1 cpy output[0] => output[1]"}, Options{}, "[]"},

		{"exchange", exchange, nil, Options{Slots: 2}, "[]"},
		{"exchange with few slots", exchange, nil, Options{Slots: 1}, "[deadlock]"},
		{"exchange of larger messages", exchange, nil, Options{Slots: 1, MessageChunks: 2}, "[]"},
		{"two tiles", exchange, nil, Options{Slots: 2, Tiles: 2, Launches: 2}, "[]"},
		{"receives first", exchange, []string{"0 s input[0]*2\n  1 r output[0]*2", "0 r output[0]*2\n  1 s input[0]*2", "0 s input[0]*2\n  1 r output[0]*2", "0 r output[0]*2\n  1 s input[0]*2"}, Options{Slots: 2}, "[deadlock]"},
		{"other counts", exchange, []string{"0 s input[0]*2\n  1 r output[0]*2\nblock", "0 s input[0]\n  1 s input[1]\n  2 r output[0]*2\nblock"}, Options{Slots: 2}, "[mismatch]"},
		{"swapped", exchange, []string{"1 r output[0]*2\nblock", "1 r output[1]\n  2 r output[0]\nblock", "block 1.0 send 0 recv 0 ch 0\n  0 s input[0]*2", "block 1.0 send 0 recv 0 ch 0\n  0 s input[0]\n  1 s input[1]", "1 r output[0]*2\n", "2 r output[0]*2\n"}, Options{Slots: 2}, "[wrong-result]"},
		{"left over", exchange, []string{"  1 r output[0]*2\nblock", "  1 cpy input[0] => output[0]*2\nblock"}, Options{Slots: 2}, "[wrong-result leftover]"},
		{"never sent", exchange, []string{"  0 s input[0]*2\n  1 r output[0]*2\nblock", "  0 r output[0]*2\nblock"}, Options{Slots: 2}, "[deadlock]"},

		{"flag", flagged, nil, Options{}, "[]"},
		{"a later flag will do", flagged, []string{" hasdep", "", "output[0]\n", "output[0] hasdep\n"}, Options{}, "[]"},
		{"an earlier one will not", flagged, []string{"dep 0.0", "dep 0.1"}, Options{}, "[deadlock]"},
		{"nor does the next tile's", flagged, []string{"dep 0.0", "dep 0.1"}, Options{Tiles: 2}, "[deadlock]"},
		{"no flag", flagged, []string{" hasdep", ""}, Options{}, "[deadlock]"},
		{"no wait", flagged, []string{" dep 0.0", ""}, Options{}, "[race uninitialized wrong-result]"},
		{"nothing there", flagged, []string{"cpy scratch[0]", "cpy scratch[1]"}, Options{}, "[uninitialized wrong-result]"},
	} {
		src := c.text
		for i := 0; i < len(c.edit); i += 2 {
			if !strings.Contains(src, c.edit[i]) {
				t.Fatalf("%s: no %q to edit", c.name, c.edit[i])
			}
			src = strings.Replace(src, c.edit[i], c.edit[i+1], 1)
		}
		p, err := parse.Program(c.name, []byte(strings.Replace(src, "PROTOCOL\n", "", 1)))
		if err != nil {
			t.Fatalf("%s: %v\n%s", c.name, err, src)
		}
		v, err := Reduced(p.Fifo, c.opt)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := fmt.Sprint(v.Kinds()); got != c.want {
			t.Errorf("%s: %s, want %s\n%v\n%s", c.name, got, c.want, v, src)
		}
	}
}
