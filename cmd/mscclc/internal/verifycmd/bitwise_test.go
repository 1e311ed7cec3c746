package verifycmd

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"mscclc"
	"mscclc/algorithms"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/ir/bitwise"
	"mscclc/ir/either"
	"mscclc/lang"
)

func compiled(t *testing.T, name string, params lang.Params) *either.Program {
	t.Helper()
	text, err := algorithms.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	p, err := mscclc.Compile(name+".mscl", text, mscclc.Options{Lang: lang.Options{Params: params, Open: algorithms.Open}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// What is printed of sums that differ names both expressions and their steps.
func TestBitwiseText(t *testing.T) {
	for _, x := range []struct {
		name, ordered string
		want          []string
	}{
		{"allreduce/ring", "", []string{"bitwise: every rank ends with the same bits (3 sums)\n"}},
		{"allgather/ring", "", []string{"bitwise: no two outputs hold the same sum\n"}},
		{"allreduce/allpairs_onestep", "true", []string{"every rank ends with the same bits (1 sum)\n"}},
		{"allreduce/allpairs_onestep", "false",
			[]string{"bitwise: sums of floats differ, 1 of 1; integers, min and max do not\n", "rank 0 chunk 0 has in[0][0] + in[1][0] + in[2][0], made by rank 0 block", "(re) at allreduce/allpairs_onestep.mscl:"}},
	} {
		params := lang.Params{"ranks": 3}
		if x.ordered != "" {
			params["ordered"] = x.ordered
		}
		p := compiled(t, x.name, params)
		o := bitwise.OrderOf(p)
		var b bytes.Buffer
		printBitwise(cli.NewApp(nil, nil, &b, io.Discard, nil), "", p, o)
		for _, want := range x.want {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s: %s, want %q", x.name, b.String(), want)
			}
		}
		j, err := json.Marshal(newBitwise(p, o))
		if err != nil {
			t.Fatal(err)
		}
		if x.ordered == "false" &&
			!strings.Contains(string(j), `"counterexample":[{"rank":0,"chunk":0,"expression":"in[0][0] + in[1][0] + in[2][0]"`) ||
			!strings.Contains(string(j), `"types":["f16","bf16","e4m3","e5m2"]`) {
			t.Errorf("%s: %s", x.name, j)
		}
	}
}
