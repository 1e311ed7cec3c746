package files

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestMark(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "a": "a", "ab": "ab", "abcd": "abcd",
		mark: "", mark + "abcd": "abcd", mark[:2]: mark[:2], "a" + mark: "a" + mark,
	} {
		for name, r := range map[string]io.Reader{
			"whole":    strings.NewReader(text),
			"by bytes": iotest.OneByteReader(strings.NewReader(text)),
		} {
			got, err := ReadAll("f", iotest.OneByteReader(Limit("f", r, "a test", 100)), "a test", 100)
			if err != nil || string(got) != want {
				t.Errorf("%q %s: read %q, %v, not %q", text, name, got, err, want)
			}
		}
	}
	broken := errors.New("broken")
	for _, text := range []string{"", "ab", "abcd"} {
		r := io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken))
		got, err := io.ReadAll(Limit("f", r, "a test", 100))
		if string(got) != text || !errors.Is(err, broken) {
			t.Errorf("%q: read %q, %v", text, got, err)
		}
	}
}
