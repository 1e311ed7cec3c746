package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mscclc/codegen"
	"mscclc/codegen/mscclpp"
	"mscclc/ir/text"
)

// The table of help channels names every operation of plans, once, and shows it as the text of channels does:
// every.json has them all.
func TestHelpChannelsNamesEveryOperation(t *testing.T) {
	f, err := os.Open("../../codegen/mscclpp/testdata/every.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	plan, p, err := mscclpp.Read("every.json", f, codegen.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{} // the text of an operation, by its name in a plan
	for b, block := range plan.GPUs[0].Blocks {
		for i := range block.Ops {
			op := &p.Ranks[0].Blocks[b][i]
			shown[block.Ops[i].Name] = text.OpText(p, 0, op)
			if block.Ops[i].Part != nil {
				shown["tbg_info"] = text.OpText(p, 0, op)
			}
			if loop := block.Ops[i].Loop; loop != nil {
				for k := range loop.Ops {
					shown[loop.Ops[k].Name] = text.OpText(p, 0, &op.Body[k])
				}
			}
		}
	}
	words := regexp.MustCompile(`[a-z]+`)
	_, rows, _ := strings.Cut(channelsHelp(), "HERE ")
	for line := range strings.Lines(rows) {
		columns := regexp.MustCompile(`  +`).Split(strings.TrimSpace(line), -1)
		if columns[0] == "IN A PLAN" {
			continue
		}
		if len(columns) != 4 {
			t.Fatalf("%q has %d columns", line, len(columns))
		}
		as := strings.Split(strings.ReplaceAll(columns[2], "[flush]", ""), ", ")
		for _, name := range strings.Split(columns[1], ", ") {
			text, known := shown[name]
			if !known {
				t.Errorf("%s is no operation, or is named twice", name)
			}
			delete(shown, name)
			if !slices.ContainsFunc(as, func(s string) bool {
				said := words.FindAllString(s, -1)
				return len(said) > 0 && !slices.ContainsFunc(said, func(w string) bool { return !strings.Contains(text, w) })
			}) {
				t.Errorf("%s is shown as %q, and not as %q", name, text, columns[2])
			}
		}
	}
	for name, text := range shown {
		t.Errorf("%s, shown as %q, is not there", name, text)
	}
}
