package showcmd

import (
	"fmt"
	"io"
	"text/tabwriter"

	"mscclc/ir"
	"mscclc/play"
)

// mostDetails is how many wrong chunks are described one by one.
const mostDetails = 64

// writeWrong writes a table of the outputs of c, rank by chunk, and says of those that are wrong what they hold.
func writeWrong(w io.Writer, c *ir.ChunkDAG) error {
	wrong := play.WrongOf(play.OfChunks(c), mostDetails)
	type chunk struct{ rank, index int }
	marks := map[chunk]string{}
	for i := range wrong {
		marks[chunk{wrong[i].Rank, wrong[i].Index}] = wrong[i].Mark
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	chunks := 0
	for r := range c.Coll.Ranks {
		chunks = max(chunks, c.Coll.OutChunks(r))
	}
	fmt.Fprint(t, "output")
	for i := range chunks {
		fmt.Fprintf(t, "\t%d", i)
	}
	for r := range c.Coll.Ranks {
		fmt.Fprintf(t, "\nrank %d", r)
		for i := range c.Coll.OutChunks(r) {
			mark := marks[chunk{r, i}]
			if mark == "" {
				mark = "."
			}
			fmt.Fprintf(t, "\t%s", mark)
		}
	}
	fmt.Fprintln(t)
	t.Flush() // whose error the next write has too
	fmt.Fprintf(w, "\n%d wrong: - lacks inputs, + has some twice, x holds others, 0 holds nothing; . is right\n", len(wrong))
	for i := range wrong[:min(len(wrong), mostDetails)] {
		fmt.Fprintln(w, wrong[i].Text)
	}
	if n := len(wrong) - mostDetails; n > 0 {
		fmt.Fprintf(w, "and %d more\n", n)
	}
	return nil
}
