package play_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"mscclc/algorithms"
	"mscclc/play"
)

// edits are what a text is changed by, at any place.
var edits = []string{"", "0", "1", "7", "+ 1", "- 1", "* 2", "ranks", "tb = 1", "output", "input", "\n", "}", "wait", "signal", "\"1\""}

// TestRandom makes scenes of texts that somebody types: none panics, and what an entry of a scene points at is there.
func TestRandom(t *testing.T) {
	files, err := filepath.Glob("testdata/broken/*")
	if err != nil {
		t.Fatal(err)
	}
	examples, err := filepath.Glob("../examples/channels/*.mscl")
	if err != nil || len(examples) == 0 {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, file := range append(files, examples...) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(file)] = string(text)
	}
	for _, name := range []string{"allreduce/ring", "allreduce/allpairs", "broadcast/chain", "allgather/swing"} {
		texts[name+".mscl"] = string(mustOpen(t, name))
	}
	n := 60
	if s := os.Getenv("MSCCLC_RANDOM"); s != "" {
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	states := map[string]int{}
	for seed := range n {
		r := rand.New(rand.NewPCG(uint64(seed), 41))
		for name, text := range texts {
			if (seed+len(name))%4 > 0 {
				continue
			}
			text = edited(r, text)
			result, err := play.Build(&play.Request{Name: name, Text: []byte(text), Open: algorithms.Open,
				OneSided: seed%3 == 0})
			if err != nil {
				t.Fatal(err)
			}
			states[result.Scene.Verdict.State]++
			if what := loose(result.Scene); what != "" {
				t.Fatalf("seed %d: the scene of %s has %s that is not there\n%s", seed, name, what, text)
			}
			if _, err := json.Marshal(result.Scene); err != nil {
				t.Fatalf("seed %d: %s: %v\n%s", seed, name, err, text)
			}
		}
	}
	if states["proven"] == 0 || states["rejected"] == 0 {
		t.Errorf("states: %v", states)
	}
}

// edited changes a text at one place or two: a word, a number or a character.
func edited(r *rand.Rand, text string) string {
	for range 1 + r.IntN(2) {
		at := r.IntN(len(text))
		end := min(at+r.IntN(4), len(text))
		if digit := strings.IndexAny(text[at:], "0123456789"); r.IntN(2) == 0 && digit >= 0 {
			at += digit
			end = at + 1
		}
		text = text[:at] + edits[r.IntN(len(edits))] + text[end:]
	}
	return text
}

// loose returns what of a scene points at what is not there, or "".
func loose(s *play.Scene) string {
	in := func(i, n int) bool { return i >= -1 && i < n }
	for _, f := range s.Frames {
		for _, op := range f.Ops {
			if op >= len(s.Ops) {
				return "an operation"
			}
		}
		for _, w := range f.Writes {
			if w.Column >= len(s.Columns) || !in(w.Content, len(s.Contents)) || w.Op >= len(s.Ops) ||
				w.Rank >= s.Collective.Ranks {
				return "a write"
			}
		}
	}
	for _, op := range s.Ops {
		for _, p := range op.Paths {
			if p >= len(s.Machine.Paths) {
				return "a path"
			}
		}
	}
	if f := s.Fault; f != nil {
		for i := range f.Steps {
			if !in(f.Steps[i].Op, len(s.Ops)) || !in(f.Steps[i].Frame, len(s.Frames)) {
				return "a lit step"
			}
		}
		for _, w := range f.Waits {
			if !in(w.Step, len(f.Steps)) || !in(w.On, len(f.Steps)) || !in(w.At, len(f.Steps)) {
				return "a wait"
			}
		}
		if f.Frame > len(s.Frames) || f.Chunk != nil && f.Chunk.Column >= len(s.Columns) {
			return "a frame or a chunk"
		}
	}
	return ""
}
