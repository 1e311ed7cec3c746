package lang

import (
	"strings"
	"testing"

	"mscclc/ir/diag"
	"mscclc/ir/epilogue"
	"mscclc/lang/syntax"
)

// rowsFile returns an AllReduce of two ranks whose sums lie in acc, and which ends with body, a statement of rank r.
func rowsFile(body string) string {
	return `algorithm rows(ranks = 2)
collective allreduce(ranks, chunks = 1)
scratch acc[2]
for r in 0..ranks {
    let sum = reduce([chunk(p, input, 0) for p in 0..ranks], r, acc, 0)
    ` + body + `
}
`
}

func TestThen(t *testing.T) {
	for _, test := range []struct {
		body string
		list string    // that the program has
		code diag.Code // or what is wrong
		says string
	}{
		{"sum.then(residual, rms_norm(eps)).copy(r, output, 0)", "residual, rms_norm(eps)", "", ""},
		{"sum.then(scale, bias, layer_norm(eps), activation(silu), quantise(e4m3, block = 128)).copy(r, output, 0)",
			"scale, bias, layer_norm(eps), activation(silu), quantise(e4m3, block = 128)", "", ""},
		{"sum.then(cast(f32)).copy(r, output, 0)", "cast(f32)", "", ""},
		// A then for each rank, in a list, from a function, and a copy of it to several ranks at once.
		{"if r == 0 { for peer in 0..ranks { sum.then(scale).copy(peer, output, 0) } }", "scale", "", ""},
		{"if r == 1 { [sum.then(scale)][0].copy([peer for peer in 0..ranks], output, 0) }", "scale", "", ""},
		{"let done = sum.then(scale)\ndone[0].copy(r, output, 0)", "scale", "", ""},
		{"let done = sum.then(scale)\nif r == 0 { done.copy(r, output, 0) } else { done[0..0].copy(r, output, 0) }", "",
			diag.Finished, "then finishes nothing here"},
		{"sum.copy(r, output, 0)\nsum.then(cast(f32))", "", diag.Finished, "goes to the output without then"},
		{"sum.then(cast(f32))\nsum.reduce(chunk(r, acc, 0).copy(r, acc, 1)).copy(r, output, 0)", "", diag.Finished,
			"goes to the output without then"},
		{"sum.then(cast(f32)).copy(r, output, 0).copy(r, acc, 1)", "", diag.Finished, "takes finished rows"},
		{"sum.then(cast(f32)).copy(r, output, 0)\nsum.copy(r, output, 0)", "", diag.Finished, "a second time"},
		{"sum.then(scale)\nreduce([chunk(p, input, 0) for p in 0..ranks], r, output, 0)", "", diag.Finished,
			"adds up in the output"},
		{"sum.then().copy(r, output, 0)", "", diag.Arguments, "then lacks its stages"},
		{"sum.then(norm).copy(r, output, 0)", "", diag.Undefined, "there is no stage norm"},
		{"sum.then(rms_nrom(eps)).copy(r, output, 0)", "", diag.Undefined, "there is no stage rms_nrom"},
		{"sum.then(rms_norm).copy(r, output, 0)", "", diag.Arguments, "rms_norm takes eps in parentheses"},
		{"sum.then(rms_norm(5)).copy(r, output, 0)", "", diag.Arguments, "this is no argument of rms_norm"},
		{"sum.then(bias(1)).copy(r, output, 0)", "", diag.Arguments, "no argument of bias"},
		{"sum.then(quantise(f64)).copy(r, output, 0)", "", diag.Arguments, "no argument of quantise"},
		{"sum.then(quantise(e4m3, block = 0)).copy(r, output, 0)", "", diag.Arguments, "a block has 1 to"},
		{"sum.then(cast(f32), bias).copy(r, output, 0)", "", diag.Arguments, "no stage can follow it"},
		{"sum.then(bias, bias).copy(r, output, 0)", "", diag.Arguments, "has bias twice"},
		{"sum.then(1 + 2).copy(r, output, 0)", "", diag.Arguments, "no stage of an epilogue"},
		{"if r == 0 { sum.then(scale) } else { sum.then(bias) }\nsum.copy(r, output, 0)", "", diag.Declaration,
			"the same stages"},
	} {
		tree, err := syntax.Parse("rows.mscl", []byte(rowsFile(test.body)))
		if err != nil {
			t.Fatalf("%s: %v", test.body, err)
		}
		d, err := Expand(tree, Options{})
		switch {
		case test.code == "" && err != nil:
			t.Errorf("%s: %v", test.body, err)
		case test.code == "" && d.Then.String() != test.list:
			t.Errorf("%s: the program has %s", test.body, d.Then)
		case test.code == "":
			if again, err := epilogue.Parse(test.list); err != nil || again.String() != test.list {
				t.Errorf("%s is read as %s, %v", test.list, again, err)
			}
		case err == nil || err.(diag.List)[0].Code != test.code || !strings.Contains(err.Error(), test.says):
			t.Errorf("%s: %v", test.body, err)
		}
	}
}

// TestThenOutOfPlace refuses an epilogue where input and output are one memory.
func TestThenOutOfPlace(t *testing.T) {
	text := strings.Replace(rowsFile("sum.then(scale).copy(r, output, 0)"), "chunks = 1", "chunks = 1, inplace = true", 1)
	tree, err := syntax.Parse("rows.mscl", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Expand(tree, Options{}); err == nil || err.(diag.List)[0].Code != diag.NotInPlace {
		t.Error(err)
	}
	yes := true
	tree, _ = syntax.Parse("rows.mscl", []byte(rowsFile("sum.then(scale).copy(r, output, 0)")))
	if _, err := Expand(tree, Options{Inplace: &yes}); err == nil || err.(diag.List)[0].Code != diag.NotInPlace {
		t.Error(err)
	}
}
