package algorithms_test

import (
	"errors"
	"strings"
	"testing"

	"mscclc"
	"mscclc/algorithms"
	"mscclc/codegen"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/lang"
)

func compileFor(target, name, ranks string, edit func(text string) string) (*either.Program, error) {
	text, err := algorithms.Open(name)
	if err != nil {
		return nil, err
	}
	opt := mscclc.Options{Lang: lang.Options{Params: lang.Params{"ranks": ranks}, Open: algorithms.Open}}
	if opt.Target, err = codegen.TargetByName(target); err != nil {
		return nil, err
	}
	return mscclc.Compile(name+".mscl", []byte(edit(string(text))), opt)
}

func asItIs(text string) string { return text }

// TestChannelsFit holds that connections go over as many channels as a target's limits ask for, and over no more.
// The channels of the last two are what there is, and not the least.
func TestChannelsFit(t *testing.T) {
	for _, c := range []struct {
		target, program, ranks string
		channels               int
	}{
		{"msccl", "allreduce/allpairs", "33", 1}, // 32 peers on a channel
		{"msccl", "allreduce/allpairs", "34", 2},
		{"msccl", "allreduce/allpairs", "64", 2},
		{"msccl", "alltoall/one_step", "128", 4},
		{"msccl", "alltoall/one_step", "65", 2},
		{"msccl", "allreduce/ring", "128", 1}, // 256 steps a block, and a ring has 2 * ranks - 1
		{"msccl", "allreduce/ring", "129", 2},
		{"msccl", "allreduce/ring", "256", 2},
		{"rccl", "allreduce/allpairs", "64", 2}, // whose sums are too long for one block
		{"rccl", "allreduce/ring", "64", 6},
	} {
		p, err := compileFor(c.target, c.program, c.ranks, asItIs)
		if err != nil {
			t.Errorf("%s of %s ranks for %s: %v", c.program, c.ranks, c.target, err)
			continue
		}
		target, _ := codegen.TargetByName(c.target)
		if err := mscclc.Fits(p, target).Err(); err != nil || p.Channels() != c.channels {
			t.Errorf("%s of %s ranks for %s: %d channels, want %d; %v",
				c.program, c.ranks, c.target, p.Channels(), c.channels, err)
		}
	}
}

// TestChannelsHint holds that what the refusal of a program with too little room hints at works.
func TestChannelsHint(t *testing.T) {
	for _, c := range []struct {
		program, ranks, text string
		hints                []string // what to replace by what
	}{
		{"allreduce/ring", "256", "steps of a block, with nops: 511, and msccl allows 256",
			[]string{"input, i) }\n", "input, i, ch = 0) }\n", ".reduce(c)", ".reduce(c, ch = 0)"}},
		{"allreduce/allpairs", "64", "peers of a rank on a channel, one way: 63, and msccl allows 32",
			[]string{".copy(peer, input, r)\n", ".copy(peer, input, r, ch = 1)\n"}},
	} {
		_, err := compileFor("msccl", c.program, c.ranks, strings.NewReplacer(c.hints...).Replace)
		var list diag.List
		if !errors.As(err, &list) || list[0].Code != diag.Limit || list[0].Text != c.text ||
			!strings.HasPrefix(list[0].Hint, "leave out ch, ") {
			t.Errorf("%s on one channel: %v", c.program, err)
		}
		if _, err := compileFor("msccl", c.program, c.ranks, asItIs); err != nil {
			t.Errorf("%s without ch: %v", c.program, err)
		}
	}
}
