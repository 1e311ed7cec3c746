package play_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"mscclc/lang"
	"mscclc/play"
)

// noted reports whether a scene has a note.
func noted(s *play.Scene, want string) bool {
	return slices.ContainsFunc(s.Notes, func(note string) bool { return strings.Contains(note, want) })
}

// TestSizeOutside has calls within and outside of the sizes that a program is for.
func TestSizeOutside(t *testing.T) {
	text := strings.Replace(string(mustOpen(t, "allreduce/ring")), "\ncollective", "\nsizes 1KiB..1MiB\ncollective", 1)
	for bytes, want := range map[int64]bool{1 << 10: false, 1<<20 - 4: false, 2 << 20: true} {
		s := build(t, &play.Request{Name: "sized.mscl", Text: []byte(text), Bytes: bytes}).Scene
		if s.Timeline == nil {
			t.Fatalf("no timeline: %s %v", s.Verdict.Text, s.Notes)
		}
		if noted(s, "The program is for sizes from 1 KiB") != want {
			t.Errorf("%d bytes: %v", bytes, s.Notes)
		}
	}
}

// TestManySpans has a program with more steps than a timeline has room for: it shows those that begin first, says so,
// and ends when the call does.
func TestManySpans(t *testing.T) {
	r := catalogRequest(t, "alltoall/one_step")
	r.Params, r.OneSided, r.Bytes = lang.Params{"ranks": "64"}, true, 4<<20
	s := build(t, r).Scene
	if s.Timeline == nil {
		t.Fatalf("no timeline: %s %v %s", s.Verdict.Line, s.Notes, s.Machine.Problem)
	}
	line, last := s.Timeline, 0.
	for _, x := range line.Spans {
		last = max(last, x.Begin+x.Length)
	}
	if len(line.Spans) != 6000 || !noted(s, "The timeline shows the first 6000 of ") {
		t.Errorf("%d spans, and the notes are %q", len(line.Spans), s.Notes)
	}
	if line.Iterations != line.Of || line.End < last || math.Abs(line.Launch+line.End-s.Figures.Latency) > 0.01 {
		t.Errorf("%d of %d iterations end at %f, the last span at %f, the call at %f", line.Iterations, line.Of, line.End,
			last, s.Figures.Latency)
	}
}

// TestAdvice has the command that proves what is too large here name the parameters, and a file whose own 8 ranks are
// too large not be said to run for 8.
func TestAdvice(t *testing.T) {
	ring := mustOpen(t, "allreduce/ring")
	r := &play.Request{Name: "ring.mscl", Text: ring, Params: lang.Params{"ranks": "1000"}, OneSided: true}
	if s := build(t, r).Scene; !noted(s, "mscclc verify ring.mscl -p ranks=1000 proves it.") {
		t.Errorf("the notes of 1000 ranks are %q", s.Notes)
	}
	r.OneSided = false
	if s := build(t, r).Scene; !noted(s, "mscclc verify ring.mscl -p ranks=1000 --sided two proves it.") {
		t.Errorf("the notes of 1000 ranks are %q", s.Notes)
	}
	text := "algorithm long(ranks = 8)\ncollective allgather(ranks)\nfor i in 0..10000000 { let x = i }\n"
	s := build(t, &play.Request{Name: "long.mscl", Text: []byte(text)}).Scene
	if len(s.Notes) == 0 || noted(s, "is run for 8 ranks") || !noted(s, "mscclc verify long.mscl --sided two proves it.") {
		t.Errorf("the notes of a long loop are %q, %s", s.Notes, s.Verdict.Text)
	}
}
