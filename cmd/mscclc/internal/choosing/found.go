package choosing

import (
	"strings"

	"mscclc/algorithms/choose"
	"mscclc/cmd/mscclc/internal/cli"
)

// foundBy says how the program of a call was found on the hosts of a job.
var foundBy = [...]struct {
	choose.Source
	text string
}{
	{choose.Tuned, "what mscclc search found on these hosts"},
	{choose.SimulatedHere, "chosen by simulation with the network that topo --measure found on these hosts"},
}

// NoteFound notes which sizes of a call have programs that were found on these hosts, and how.
func NoteFound(a *cli.App, c *choose.Chooser, call choose.Call, sizes []int64, element int) {
	for _, by := range foundBy {
		of := func(n int64) bool { return c.Source(call, max(n, 1), element) == by.Source }
		if text := runs(sizes, of); text != "" {
			a.Note("", "%v %s, %s: the program is %s", call.Kind, PlaceName(call.Inplace), text, by.text)
		}
	}
}

// runs names those sizes that fit, from the first to the last of each run.
func runs(sizes []int64, fits func(int64) bool) string {
	var words []string
	for i := 0; i < len(sizes); i++ {
		if !fits(sizes[i]) {
			continue
		}
		first := sizes[i]
		for i+1 < len(sizes) && fits(sizes[i+1]) {
			i++
		}
		word := cli.SizeText(first)
		if sizes[i] != first {
			word += " to " + cli.SizeText(sizes[i])
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}
