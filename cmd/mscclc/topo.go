package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/measurecmd"
	"mscclc/ir/diag"
	"mscclc/topology"

	"github.com/spf13/cobra"
)

func topoCommand(a *cli.App) *cobra.Command {
	var measured measurecmd.Flags
	var limits boundFlags
	cmd := &cobra.Command{
		Use:   "topo [MACHINE|FILE.topo|FILE.xml][:NAME=NUMBER,...]",
		Short: "Print what this machine is, or what a topology says",
		Long: `Print what this machine is: its GPUs, whether they reach each other's memory, its network cards, and the known
machine that is most like it. Or print what a topology says: classes of links with their latency and bandwidth, and
paths between ranks. The bandwidth of a class is that of one link in one direction. Under LINKS, 8 x 2 means eight pairs
of vertices (GPUs, NICs or switches) with two links each, whose bandwidths add up. In NCCL's XML that width is the count
of NVLinks.

--measure measures the network between the hosts of a job. mpirun, torchrun or srun start its processes, equally many on
each host. It measures what programs see, by the proxies that carry their messages (MSCCLC_NET): the latency of 8 bytes,
the time of one of many messages, and the bandwidth of one process and of a whole host. -o and --costs write files for
--topology and --costs of simulate and select. All else in these files is that of the most similar machine that mscclc
knows. What is measured is kept in the user's cache too: run and bench of a collective on these hosts choose by it.

--bound prints how fast each collective can be on the topology, whatever the algorithm, and the cut: the links that
limit it. Latencies do not count. It is exact unless the line says "at most". --without says what is down: a class
(pcie), a rank (3), a vertex (nic[0], node1.nic[0]), or the links between two of these (0-4; 0>4 is one direction).
Ranks that are down do not take part. --ranks says which GPUs take part; the others forward data, unless --no-relay is
given.

A topology is a machine that mscclc knows (` + strings.Join(topology.Names(), ", ") + `),
a text file of the same form, or the XML that NCCL or RCCL writes where NCCL_TOPO_DUMP_FILE asks for it. Parameters
stand after a colon: ndv4:nodes=4. A name without .topo and .xml is read by what the file holds. NCCL's file is read as
NCCL reads it, and notes say what is left out or taken for granted. --device NAME says what the GPUs are, and has the
PCI class tell which devices are GPUs in files that clouds give NCCL. FILE.topo is, line by line,

    topology name(nodes = 1, k = 4)          # parameters are numbers, which a user may give
    device h100                              # what the GPUs are
    class nvlink 0.3us 365GB/s               # a kind of link: latency, and bandwidth of one direction
    class pcie 0.5us 50GB/s
    class ib 1.2us 400Gb/s network           # that joins nodes
    node {                                   # what each node has; in it, node is the node's number: nic 2 - node
        gpu 8                                # the number of GPUs, which are the ranks, node by node
        apart 0                              # 1: GPUs do not reach each other's memory, and share the host's
        nic k
        switch nvswitch
        link gpu[i] nvswitch nvlink          # each GPU with the switch
        link gpu[i] nic[i / 2] pcie          # two GPUs with a NIC
    }
    switch leaf (nodes + 3) / 4              # what nodes share, a switch four nodes
    link nic[i] leaf[node / 4] ib
    link leaf[i] leaf[*] ib x 8              # with all others, eight links side by side`,
		Example: `  mscclc topo
  mscclc topo ndv4:nodes=2
  mscclc topo dgx1v --bound --without pcie,0-4
  mscclc topo mine.xml`,
		Args: cli.AtMost(1, "a machine or a file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := measured.Check(a, cmd, args); err != nil {
				return err
			}
			if measured.Measure {
				return measured.Run(cmd.Context(), a, cmd)
			}
			if err := limits.check(cmd, args); err != nil {
				return err
			}
			if len(args) == 0 {
				return topoHere(a)
			}
			device, err := measured.GPUs(cmd)
			if err != nil {
				return err
			}
			t, err := a.OpenTopology(args[0], device)
			if err != nil {
				return err
			}
			if limits.bound {
				return limits.print(cmd.Context(), a, t)
			}
			return printTopology(a, t)
		},
	}
	measured.Add(cmd)
	limits.add(cmd)
	return cmd
}

// A topologyReport is what a topology says.
type topologyReport struct {
	Schema  int           `json:"schema"`
	Name    string        `json:"name"`
	Doc     string        `json:"doc"`
	Nodes   int           `json:"nodes"`
	GPUs    int           `json:"gpus_per_node"`
	Device  string        `json:"device"`
	Places  int           `json:"places" doc:"GPUs, NICs and switches"`
	Classes []classReport `json:"classes"`
	Ways    []wayReport   `json:"ways" doc:"paths from rank 0"`
	cli.Noted
}

type classReport struct {
	Name      string  `json:"name"`
	Latency   float64 `json:"latency_us"`
	Bandwidth float64 `json:"bandwidth_gbs" doc:"of one link, in one direction"`
	Links     int     `json:"links"`
	Network   bool    `json:"network"`

	Widths []widthReport `json:"widths" doc:"how many links lie side by side, and how often"`
}

// A widthReport is how many links have a given number of a class side by side.
type widthReport struct {
	Width int `json:"width"`
	Links int `json:"links"`
}

// A wayReport is the way from a rank to another.
type wayReport struct {
	From      int      `json:"from"`
	To        int      `json:"to"`
	Latency   float64  `json:"latency_us"`
	Bandwidth float64  `json:"bandwidth_gbs"`
	Links     []string `json:"links" doc:"the class of each link"`
	Widths    []int    `json:"widths" doc:"of each link: how many lie side by side"`

	wide []string // the classes with their widths
}

func printTopology(a *cli.App, t *topology.Topology) error {
	r := topologyReport{cli.Schema, t.Name, t.Doc, t.Nodes, t.GPUs, t.Device, len(t.Places), []classReport{},
		[]wayReport{}, a.Notes.List()}
	for i, c := range t.Classes {
		widths, links := map[int]int{}, 0
		for _, l := range t.Links {
			if int(l.Class) == i {
				widths[int(l.Width)]++
				links++
			}
		}
		row := classReport{c.Name, c.Latency, c.Bandwidth / 1e3, links / 2, c.Network, []widthReport{}}
		for _, w := range slices.Sorted(maps.Keys(widths)) {
			row.Widths = append(row.Widths, widthReport{w, widths[w] / 2}) // a link has two directions
		}
		r.Classes = append(r.Classes, row)
	}
	router := topology.NewRouter(t)
	for _, to := range []int{1, t.GPUs - 1, t.GPUs, t.GPUs + 1, t.Ranks() - 1} {
		seen := slices.ContainsFunc(r.Ways, func(w wayReport) bool { return w.To == to })
		if to > 0 && to < t.Ranks() && !seen {
			r.Ways = append(r.Ways, way(t, router, 0, to))
		}
	}
	if a.JSON {
		return a.WriteJSON(r)
	}
	title := r.Name
	if r.Doc != "" {
		title += ": " + r.Doc
	}
	fmt.Fprintf(a.Stdout, "%s\n%s of %s, %s", title, diag.Counted(r.Nodes, "node"), diag.Counted(r.GPUs, "GPU"),
		diag.Counted(t.Ranks(), "rank"))
	if r.Device != "" {
		fmt.Fprintf(a.Stdout, ", device %s", r.Device)
	}
	fmt.Fprint(a.Stdout, "\n\n")
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "CLASS\tLATENCY\tBANDWIDTH\tLINKS")
	for _, c := range r.Classes {
		fmt.Fprintf(w, "%s\t%.4g us\t%.4g GB/s\t%s\n", c.Name, c.Latency, c.Bandwidth, c.linksText())
	}
	w.Flush()
	fmt.Fprintln(a.Stdout)
	fmt.Fprintln(w, "FROM\tTO\tLATENCY\tBANDWIDTH\tBY")
	for _, y := range r.Ways {
		fmt.Fprintf(w, "%d\t%d\t%.4g us\t%.4g GB/s\t%s\n", y.From, y.To, y.Latency, y.Bandwidth, strings.Join(y.wide, ", "))
	}
	return w.Flush()
}

func way(t *topology.Topology, r *topology.Router, from, to int) wayReport {
	y := wayReport{From: from, To: to, Links: []string{}, Widths: []int{}, Bandwidth: math.Inf(1)}
	for _, l := range r.Route(nil, from, to) {
		y.Latency += t.Latency(l)
		y.Bandwidth = min(y.Bandwidth, t.Bandwidth(l)/1e3)
		y.Links = append(y.Links, t.Classes[t.Links[l].Class].Name)
		y.Widths = append(y.Widths, int(t.Links[l].Width))
		y.wide = append(y.wide, t.Wide(l))
	}
	if len(y.Links) == 0 {
		y.Bandwidth, y.Links, y.wide = 0, []string{"no way"}, []string{"no way"}
	}
	return y
}

// linksText returns how many links there are, by how many lie side by side: 16, or 8, 8 x 2.
func (c *classReport) linksText() string {
	if len(c.Widths) == 0 {
		return "0"
	}
	var list []string
	for _, w := range c.Widths {
		text := strconv.Itoa(w.Links)
		if w.Width > 1 {
			text += fmt.Sprintf(" x %d", w.Width)
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}
