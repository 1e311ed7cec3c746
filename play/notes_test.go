package play_test

import (
	"slices"
	"strings"
	"testing"

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
