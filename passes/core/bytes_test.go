package core

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"mscclc/ir"
	"mscclc/ir/text"
	"mscclc/passes/passestest"
)

// TestOneLaneBytes holds that programs of one lane are what they were before there were lanes. testdata/onelane.sum
// has, of programs of the catalog, a sum of the chunk DAGs and one of what they become. Programs of the catalog that
// are new, or were changed, are not looked at; MSCCLC_UPDATE=1 writes the file anew.
func TestOneLaneBytes(t *testing.T) {
	const file = "testdata/onelane.sum"
	var lines []string
	for _, f := range passestest.Catalog(t) {
		in, out := sha256.New(), sha256.New()
		for _, shape := range []string{"2 1 2", "3 1 3", "4 2 2", "8 2 4"} {
			for k := range 8 {
				c := f.Expand(t, shape, k&1 > 0)
				if c == nil {
					continue
				}
				c.Protocol = []ir.Protocol{ir.Simple, ir.LL}[k>>1&1]
				text.WriteChunks(in, c)
				for _, opt := range []Options{{}, {OnePass: true}, {Staged: true, Nodes: dealt(c.Coll.Ranks, 1+k>>2, false)}} {
					p, err := Lower(c, opt)
					if err != nil && !isHint(err) {
						t.Fatal(err)
					} else if err == nil {
						fmt.Fprintln(out, programText(p))
					}
				}
			}
		}
		sum := func(b []byte) string { return hex.EncodeToString(b[:12]) }
		lines = append(lines, fmt.Sprintf("%s %s %s\n", f.Name, sum(in.Sum(nil)), sum(out.Sum(nil))))
	}
	if os.Getenv("MSCCLC_UPDATE") != "" {
		if err := os.WriteFile(file, []byte(strings.Join(lines, "")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	was, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	same := 0
	for line := range bytes.Lines(was) {
		words := strings.Fields(string(line))
		i := slices.IndexFunc(lines, func(now string) bool { return strings.HasPrefix(now, words[0]+" "+words[1]+" ") })
		if i < 0 {
			continue
		}
		if same++; lines[i] != string(line) {
			t.Errorf("%s: its programs of one lane have other bytes than before", words[0])
		}
	}
	if same < 20 {
		t.Errorf("%d programs of the catalog are as they were", same)
	}
}

// TestNeeded asks that programs with lanes are the same whether or not blocks learn what no question depends on.
func TestNeeded(t *testing.T) {
	defer func(n int) { fewParts = n }(fewParts)
	parts := 0
	for _, f := range passestest.Catalog(t) {
		for k, shape := range []string{"3 1 3", "8 2 4", "24 3 8"} {
			c := f.Expand(t, shape, false)
			if c == nil {
				continue
			}
			c.Protocol = ir.Simple
			opt := Options{Lanes: []int{3, 4, 24}[k], Nodes: dealt(c.Coll.Ranks, k, false)}
			opt.Dump = func(pass string, s *State) error {
				if pass == "sync" {
					parts = max(parts, s.sync.rows.Parts())
				}
				return nil
			}
			var is [2]string
			for x := range is {
				fewParts = x << 20
				p, err := Lower(c, opt)
				if isHint(err) {
					continue
				} else if err != nil {
					t.Fatal(err)
				}
				is[x] = programText(p)
			}
			if is[0] != is[1] {
				t.Errorf("%s, %s: the program is another", f.Name, shape)
			}
		}
	}
	if parts < 8 {
		t.Errorf("clocks have at most %d parts, so that little was tested", parts)
	}
}
