package epilogue_test

import (
	"math"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"mscclc/ir/epilogue"
	"mscclc/ir/irtest"
)

// TestText reads back what String writes, for all lists.
func TestText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := epilogue.List(rapid.SliceOfN(rapid.Custom(irtest.AnyStage), 0, 9).Draw(t, "list"))
		again, err := epilogue.Parse(l.String())
		if want := l.Check(); (want == nil) != (err == nil) {
			t.Fatalf("%q is read with %v, and checked with %v", l, err, want)
		}
		if diff := cmp.Diff(l, again, cmpopts.EquateEmpty()); err == nil && diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestSpelling reads lists with spaces, commas and parentheses as the language has them.
func TestSpelling(t *testing.T) {
	for text, want := range map[string]string{
		"residual,rms_norm(eps)":                "residual, rms_norm(eps)",
		" residual ,\n\trms_norm ( eps ) ,\r\n": "residual, rms_norm(eps)",
		"residual(),rms_norm(eps,)":             "residual, rms_norm(eps)",
		"quantise(e4m3,block=128,)":             "quantise(e4m3, block = 128)",
		"quantise ( i8 , block  =  4 )":         "quantise(i8, block = 4)",
		" ":                                     "",
	} {
		if l, err := epilogue.Parse(text); err != nil || l.String() != want {
			t.Errorf("%q is read as %v, %v", text, l, err)
		}
	}
}

// TestBadText lists what is no epilogue.
func TestBadText(t *testing.T) {
	for text, says := range map[string]string{
		"norm":                            "there is no stage norm; the stages are scale, bias",
		"quantize(e4m3)":                  "there is no stage quantize; did you mean quantise?",
		"bias scale":                      `"scale" follows bias of an epilogue; commas part the stages`,
		"bias, , scale":                   "there is no stage ,",
		",":                               "there is no stage ,",
		"bias(x)":                         "x is no argument of bias; bias takes nothing in parentheses",
		"(eps)":                           "there is no stage (",
		"rms_norm(eps) )":                 `")" follows rms_norm(eps)`,
		"rms_norm(eps eps)":               "eps is no argument of rms_norm",
		"rms_norm(,)":                     ", is no argument",
		"quantise(e4m4)":                  "e4m4 is no argument of quantise; did you mean e4m3?",
		"quantise(e4m3, 128)":             "quantise takes e4m3 or e5m2 or i8 in parentheses, and block = N may follow it",
		"quantise(e4m3, blok = 128)":      "blok is no argument of quantise; did you mean block?",
		"quantise(e4m3, block)":           "block lacks its number; block = 128",
		"quantise(e4m3, block = 007)":     `"007" is no number of elements of a block; block = 128`,
		"quantise(e4m3, block = 2*3)":     "* is no argument",
		"quantise(e4m3, block = 1048577)": "out of range",
		"rms_norm":                        "takes eps in parentheses",
		"rms_norm(eps":                    "is not closed",
		"quantise(f16)":                   "takes e4m3 or e5m2 or i8",
		"quantise(e4m3, block = 0)":       "no number of elements",
		"quantise(e4m3, block = -1)":      "no number of elements",
		"rms_norm(eps, block = 4)":        "has no block",
		"cast(f32), bias":                 "no stage can follow",
		"bias, bias":                      "bias twice",
		"quantise(e4m3, block = 99999999999999999999)": "no number of elements",
		strings.Repeat("bias, ", 1000000):              "stages, of 8 at most",
	} {
		if l, err := epilogue.Parse(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.40q is read as %v, %v", text, l, err)
		}
	}
}

// TestApply compares Apply with rows that were computed by hand.
func TestApply(t *testing.T) {
	ones := []float64{1, 1}
	for _, test := range []struct {
		list string
		call []epilogue.Call
		want epilogue.Result
	}{
		{"scale, bias", []epilogue.Call{{Value: 2}, {Reads: []float64{1, -1}}}, epilogue.Result{Row: []float64{7, 7}}},
		{"residual, rms_norm(eps)", []epilogue.Call{{Reads: []float64{-2, 0}}, {Value: 7.5, Reads: []float64{4, 8}}},
			epilogue.Result{Row: []float64{1, 8}, Updated: []float64{1, 4}}},
		{"layer_norm(eps)", []epilogue.Call{{Value: 0.75, Reads: ones, Wants: []float64{0, 1}}},
			epilogue.Result{Row: []float64{-0.5, 1.5}}},
		{"activation(relu), quantise(i8)", []epilogue.Call{{}, {}},
			epilogue.Result{Row: []float64{95.25, 127}, Scales: []float64{4.0 / 127}}},
		{"quantise(e4m3, block = 1)", []epilogue.Call{{}},
			epilogue.Result{Row: []float64{448, 448}, Scales: []float64{3.0 / 448, 4.0 / 448}}},
	} {
		l, err := epilogue.Parse(test.list)
		if err != nil {
			t.Fatal(err)
		}
		sum := []float64{3, 4}
		got := l.Apply(sum, test.call)
		if diff := cmp.Diff(test.want, got, cmpopts.EquateApprox(1e-12, 0)); diff != "" {
			t.Errorf("%s: %s", test.list, diff)
		}
		if sum[0] != 3 || sum[1] != 4 {
			t.Errorf("%s changes the sum", test.list)
		}
	}
	if len(epilogue.Functions) != 3 || math.Abs(epilogue.Gelu.Of(1)-0.8413447460685429) > 1e-12 ||
		math.Abs(epilogue.Silu.Of(1)-0.7310585786300049) > 1e-12 {
		t.Error("an activation is wrong")
	}
	zero, _ := epilogue.Parse("quantise(e4m3)")
	if r := zero.Apply([]float64{0, 0}, []epilogue.Call{{}}); r.Scales[0] != 1 || r.Row[0] != 0 {
		t.Errorf("a row of zeros becomes %v", r)
	}
}

// TestDocumented compares the table with that of docs/language.md.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/language.md")
	if err != nil {
		t.Fatal(err)
	}
	for i := range epilogue.Stages {
		r := &epilogue.Stages[i]
		row := regexp.MustCompile("(?m)^\\| `" + r.Name + `[(` + "`" + "].*$").FindString(string(text))
		if !strings.Contains(row, r.Doc) {
			t.Errorf("docs/language.md does not say of %s that it %s: %s", r.Name, r.Doc, row)
		}
		for _, argument := range epilogue.Arguments(epilogue.Kind(i)) {
			if !strings.Contains(row, argument) {
				t.Errorf("docs/language.md does not say that %s takes %s", r.Name, argument)
			}
		}
	}
}
