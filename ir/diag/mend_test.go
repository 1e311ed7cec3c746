package diag

import (
	"strings"
	"testing"
)

// TestMend does edits that are certain, and no others.
func TestMend(t *testing.T) {
	words := func(text []byte) (list List) { // each word but a and b is wrong; x is a slip of a, y of c
		offset := 0
		for word := range strings.FieldsSeq(string(text)) {
			at := offset + strings.Index(string(text[offset:]), word)
			offset = at + len(word)
			d := New(Undefined, Span{Pos{"f", at, 1, at + 1}, len(word)}, "%s is wrong", word)
			switch word {
			case "a", "b":
				continue
			case "x":
				d = d.WithFix("x", "a")
			case "y":
				d = d.WithFix("y", "c")
			}
			list = append(list, d)
		}
		return list
	}
	for text, want := range map[string]string{"x": "a", "y": "y", "x y x": "a y a", "a": "a", "z": "z"} {
		mended, gone := Mend("f", []byte(text), words([]byte(text)), words)
		if string(mended) != want || len(gone) != strings.Count(text, "x") {
			t.Errorf("%s becomes %s, and %v are gone", text, mended, gone)
		}
	}
	if mended, gone := Mend("other", []byte("x"), words([]byte("x")), words); string(mended) != "x" || gone != nil {
		t.Errorf("another file becomes %s", mended)
	}
	stale := &Edit{Span{Pos{"f", 5, 1, 6}, 1}, "x", "a"}
	if _, ok := stale.Apply([]byte("x")); ok {
		t.Error("an edit beyond the text is done")
	}
}
