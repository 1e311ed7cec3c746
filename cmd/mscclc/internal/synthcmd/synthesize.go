// Package synthcmd is mscclc synthesize and mscclc check. The first makes a program of trees for a topology, with a
// certificate: a file that proves how close the program is to the fastest possible. The second verifies a certificate.
package synthcmd

import (
	"strconv"
	"time"

	"mscclc/cmd/mscclc/internal/choosing"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/synthesis"
	"mscclc/synthesis/certificate"

	"github.com/spf13/cobra"
)

type flags struct {
	part        choosing.Part
	topology    string
	out         string
	certificate string
	svg         string
	sizes       bool
	noProgram   bool
	chunks      string
	root        string
	limit       time.Duration
}

// Synthesize returns mscclc synthesize.
func Synthesize(a *cli.App) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "synthesize COLLECTIVE",
		Short: "Make the program of the largest bandwidth for a topology, with a certificate of how good it is",
		Long: `Make a program for large calls of a collective on the GPUs of a topology: trees that spread data, or gather
sums, over all links at once; of alltoall, routes from each rank to each other, over others if need be. It is compiled
and proven before it is written. The program is text of the language, with a line for each tree.

The bound is the rate that no algorithm exceeds, with switches that neither copy nor add. What limits it is a cut: links
that all data of some ranks must pass; of alltoall, lengths of links prove it. --certificate writes the trees with the
links that they go over, and the cuts or lengths that prove the bound. Of a machine that looks alike from all ranks it
has the trees of rank 0, and symmetries that take them to the others. mscclc check verifies it from the topology alone.

--chunks N is how many trees begin at each rank, at most; with more the links can be shared out more evenly. With best
it is the number whose program is the fastest by simulation. Of AllReduce, ranks may have unequal numbers.

--no-program only finds the trees: it prints the bound and what they reach, and writes the certificate. The trees are
those that reach most, since nothing is simulated. --chunks then goes up to ` + strconv.Itoa(mostListed) + `.

--sizes makes programs of few hops, too, and where links join up to 8 GPUs directly, of few rounds: in a round the
narrowest link carries a chunk. It says which of these are proven to have the fewest rounds. It simulates all and the
catalog's from 1K to 1G, and writes those that are the fastest for some sizes to the folder -o, with certificates.

--without says what is down, and --ranks which GPUs take part, as of mscclc topo --bound. The program's ranks are these
GPUs, numbered from 0 in the order of --ranks. --root and the cut name GPUs of the topology. Only ranks run a program,
so trees that forward data through another GPU are an error. --no-relay avoids them. check takes the same flags.

Collectives are ` + cli.List(kindNames()) + `.`,
		Example: `  mscclc synthesize allgather -t dgx1v -o gather.mscl --certificate gather.json
  mscclc check gather.json gather.mscl -t dgx1v
  mscclc simulate gather.mscl -t dgx1v -b 1G -e 1G
  mscclc synthesize allreduce -t dgx1v --without 0-4 -o sum.mscl
  mscclc synthesize allreduce -t dgx1v --ranks 0-3 --no-relay -o sum.mscl`,
		Args: cli.Exactly(1, "a collective"),
		RunE: func(cmd *cobra.Command, args []string) error { return synthesize(cmd, a, args[0], &f) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.topology, "topology", "t", "", "the topology `T`: a machine, or a file, as mscclc topo takes it")
	f.part.Add(flags, "")
	flags.StringVarP(&f.out, "output", "o", "", "write the program to `FILE` (default: stdout)")
	flags.StringVar(&f.certificate, "certificate", "", "write the certificate to `FILE`")
	flags.BoolVar(&f.sizes, "sizes", false, "make programs for all sizes, and write those that are the fastest for some to folder -o")
	flags.BoolVar(&f.noProgram, "no-program", false, "print what the trees reach, and make no program of them")
	flags.StringVar(&f.svg, "svg", "", "draw the machine with the trees of a rank, and what limits it, to `FILE`.svg")
	flags.StringVar(&f.chunks, "chunks", "best", "the most trees of a rank: `N`, up to "+strconv.Itoa(synthesis.MostChunks)+", or best")
	cli.AddRoot(flags, &f.root)
	flags.DurationVar(&f.limit, "time", time.Minute, "end the search after `D`")
	return cmd
}

func kindNames() (names []string) {
	for _, k := range certificate.Kinds {
		names = append(names, k.String())
	}
	return names
}
