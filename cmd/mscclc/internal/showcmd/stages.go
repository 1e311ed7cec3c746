package showcmd

import (
	"fmt"
	"slices"
	"strings"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/ir/diag"
)

// A Stage is a stage of show, with the endings of files that hold it.
type Stage struct {
	Name, Doc string
	endings   []string
}

// Stages are what show shows.
var Stages = []Stage{
	{"chunks", "which chunk goes where", cli.TextEndings},
	{"insts", "the instructions as they were lowered, before the passes", cli.TextEndings},
	{"program", "the steps of each thread block; shown where no stage is named", cli.TextEndings},
	{"json", "the same for scripts", []string{".json"}},
	{"dot", "the program as a graph, for Graphviz", cli.GraphEndings},
	{"svg", "the table of the algorithm, as papers draw it", cli.DrawingEndings},
	{"wrong", "the outputs of an algorithm, rank by chunk, with what is wrong", cli.TextEndings},
	{"channels", "the operations of an execution plan of MSCCL++, with what their ids stand for", cli.TextEndings},
}

// afterPass is the stage after a pass, which --after names.
const afterPass = "after"

// Endings returns the endings of all that show writes.
func Endings() (endings []string) {
	for _, s := range Stages {
		endings = append(endings, s.endings...)
	}
	slices.Sort(endings)
	return slices.Compact(endings)
}

// wrongShown returns an error of usage if out, which flag names, has another ending than the text or picture of a
// stage.
func wrongShown(flag, out, stage string) error {
	if stage == afterPass {
		return cli.WrongEnding(flag, out, cli.TextEndings, "--after shows text")
	}
	i := slices.IndexFunc(Stages, func(s Stage) bool { return s.Name == stage })
	if i < 0 {
		return nil // which is reported as an unknown stage
	}
	hint := "the stage shown is " + stage
	if kind := strings.TrimPrefix(cli.Ending(out), "."); slices.Contains([]string{"svg", "png", "pdf"}, kind) {
		hint += ", and -o NAME.svg without a stage draws the algorithm"
		if stage == "dot" {
			hint = fmt.Sprintf("Graphviz draws it: mscclc show FILE dot | dot -T%s -o %s", kind, diag.Printable(out))
		}
	}
	return cli.WrongEnding(flag, out, Stages[i].endings, hint)
}

// CompiledStages are the stages of .xml and .mprog files.
var CompiledStages = []string{"program", "json", "dot"}

func stageRows() (rows []string) {
	for _, s := range Stages {
		rows = append(rows, "  "+s.Name+"\t"+s.Doc)
	}
	return rows
}

func stageNames() (names []string) {
	for _, s := range Stages {
		names = append(names, s.Name)
	}
	return names
}
