package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/beevik/etree"
	"github.com/spf13/cobra"

	"mscclc/algorithms/choose"
	"mscclc/codegen"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/simulate"
	"mscclc/topology"
)

type selectFlags struct {
	topology, costs string
	begin, end      string
	dtype           string
	target          string
	inplace         bool
	emit            string
	device          string
}

func (a *app) selectCommand() *cobra.Command {
	var f selectFlags
	cmd := &cobra.Command{
		Use:   "select COLLECTIVE",
		Short: "Say which algorithm of the catalog is the fastest for which sizes on a topology",
		Long: `Say which algorithm of the catalog is the fastest for which sizes on a topology, by simulation (mscclc simulate), and why each range
begins where it does. All GPUs of the topology take part. Programs are what mscclc's own executor runs, in several widths, or with --target msccl
or rccl XML in several instances.

--emit FOLDER writes what a runtime reads. Of mscclc that is FOLDER/COLLECTIVE.table, which bench and run take by --table; its device is
--device NAME as the driver names it. Of msccl it is an XML file a range, and msccl.xml, which MSCCL_CONFIG=FOLDER/msccl.xml names: that runtime reads
4 algorithms at most, sizes from minbytes to below maxbytes, and needs NCCL_ALGO=MSCCL,RING,TREE. Of rccl it is an XML file a range, for
MSCCL_ALGO_DIR=FOLDER. Sizes that a program's chunks do not divide run in none of these: they are said, as gaps.`,
		Example: `  mscclc select allreduce --topology h200:gpus=4
  mscclc select allreduce --topology ndv4 --target msccl -b 1M -e 4M --emit algos
  mscclc select allgather --topology mine.topo -b 1M -e 64M`,
		Args: exactly(1, "a collective"),
		RunE: func(_ *cobra.Command, args []string) error { return a.selectFor(args[0], &f) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.topology, "topology", "t", "h200", "run on `T`: a machine, or a file, as mscclc topo takes it")
	flags.StringVar(&f.costs, "costs", "", "take the costs of a device from `FILE`")
	flags.StringVarP(&f.begin, "begin", "b", "1K", "the first size: `N` bytes, with K, M or G")
	flags.StringVarP(&f.end, "end", "e", "1G", "the last size: `N` bytes")
	flags.StringVar(&f.dtype, "dtype", "bf16", "elements are of type `T`: "+list(dtypeNames()))
	flags.StringVar(&f.target, "target", "plan", "programs are for `T`: plan, msccl or rccl")
	flags.BoolVar(&f.inplace, "inplace", false, "calls have input and output in one memory")
	flags.StringVar(&f.emit, "emit", "", "write what the runtime reads into `FOLDER`")
	flags.StringVar(&f.device, "device", "", "the table of --emit is for devices of `NAME` (default: the topology's)")
	return cmd
}

// selector makes what the flags ask for.
func (f *selectFlags) selector(arg string) (*choose.Selector, []int64, error) {
	if !choose.IsCollective(arg) {
		return nil, nil, usagef("%q is no collective of the catalog", arg)
	}
	sim := simulateFlags{begin: f.begin, end: f.end, factor: 2, dtype: f.dtype, costs: f.costs}
	sizes, call, err := sim.sizes()
	if err != nil {
		return nil, nil, err
	}
	t, err := topology.Open(f.topology)
	if err != nil {
		return nil, nil, err
	}
	costs, err := sim.costsOf(t)
	if err != nil {
		return nil, nil, err
	}
	target, err := codegen.TargetByName(f.target)
	if err != nil || target.Format == codegen.FormatMSCCLPP {
		return nil, nil, usagef("select takes --target plan, msccl or rccl, not %q", f.target)
	}
	s := &choose.Selector{Topology: t, Costs: costs, DType: call.DType, Target: target, OwnWidth: f.device == "cpu"}
	s.Call = choose.Call{Ranks: t.Ranks(), Nodes: t.Nodes, Inplace: f.inplace}
	s.Call.Kind, _ = ir.KindByName(strings.ToLower(arg))
	if s.Call.Ranks > choose.MostRanks {
		return nil, nil, usagef("a collective is chosen for up to %d ranks, and %s has %d", choose.MostRanks, t.Name, s.Call.Ranks)
	}
	return s, sizes, nil
}

func (a *app) selectFor(arg string, f *selectFlags) error {
	s, sizes, err := f.selector(arg)
	if err != nil {
		return err
	}
	bar := a.progress(len(sizes), "simulate")
	stop := bar.watch()
	defer stop()
	s.Stepped = bar.step
	list, err := s.Sizes(sizes)
	if errors.Is(err, choose.ErrNothing) || errors.Is(err, simulate.ErrNoWay) {
		return diag.List{diag.New(diag.Unsupported, diag.Span{}, "%v", err)}
	}
	if err != nil {
		return err
	}
	stop()
	gaps, err := gapsOf(s, list)
	if err != nil {
		return err
	}
	if f.emit != "" {
		if err := a.emit(s, f, list, sizes[len(sizes)-1]+1); err != nil {
			return err
		}
	}
	return a.printSelected(s, list, gaps)
}

// gapsOf are the sizes that a runtime runs none of the programs for, within their ranges.
func gapsOf(s *choose.Selector, list []choose.Stretch) (gaps []string, err error) {
	if s.Target.Format != codegen.FormatXML {
		return []string{}, nil // mscclc's executor takes any size
	}
	gaps = []string{}
	for _, r := range list {
		p, err := s.Program(r.Form)
		if err != nil {
			return nil, err
		}
		gaps = append(gaps, fmt.Sprintf("from %s: calls whose %d chunks are not of one length run nothing", roughSize(r.From), p.Coll.Divisor()))
	}
	return gaps, nil
}

func (a *app) printSelected(s *choose.Selector, list []choose.Stretch, gaps []string) error {
	if a.json {
		type row struct {
			From int64 `json:"from"`
			To   int64 `json:"to,omitempty"` // 0 is all above
			choose.Form
			Micros float64 `json:"us"`
			Next   string  `json:"next,omitempty"`
			Behind float64 `json:"behind,omitempty"`
			Reason string  `json:"reason,omitempty"`
		}
		rows := []row{}
		for _, r := range list {
			next := ""
			if r.Behind > 0 {
				next = r.Next.String()
			}
			rows = append(rows, row{r.From, r.To, r.Form, r.Micros, next, r.Behind, r.Reason})
		}
		return a.writeJSON(struct {
			Schema     int      `json:"schema"`
			Collective string   `json:"collective"`
			Topology   string   `json:"topology"`
			Target     string   `json:"target"`
			Ranks      int      `json:"ranks"`
			Ranges     []row    `json:"ranges"`
			Gaps       []string `json:"gaps"`
		}{schema, s.Call.Kind.String(), s.Topology.Name, s.Target.Name, s.Call.Ranks, rows, gaps})
	}
	fmt.Fprintf(a.stdout, "%v of %s on %s, simulated\n\n", s.Call.Kind, count(s.Call.Ranks, "rank"), s.Topology.Name)
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "FROM\tTO\tPROGRAM\tTIME\tSECOND\tWHY FROM HERE")
	for _, r := range list {
		to, next := "and above", ""
		if r.To > 0 {
			to = roughSize(r.To)
		}
		if r.Behind > 0 {
			next = fmt.Sprintf("%v %s %.2fx", r.Next.Program[strings.IndexByte(r.Next.Program, '/')+1:], r.Next.Protocol, r.Behind)
		}
		fmt.Fprintf(w, "%s\t%s\t%v\t%.2f us\t%s\t%s\n", roughSize(r.From), to, r.Form, r.Micros, next, r.Reason)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, g := range gaps {
		fmt.Fprintf(a.stdout, "gap: %s\n", g)
	}
	return nil
}

// roughSize is n in three digits.
func roughSize(n int64) string {
	for _, u := range sizeUnits {
		if n >= 1<<u.shift {
			return fmt.Sprintf("%.3g %s", float64(n)/float64(int64(1)<<u.shift), u.name)
		}
	}
	return fmt.Sprintf("%d B", n)
}

// mostMSCCL is how many algorithms msccl's configuration has room for.
const mostMSCCL = 4

// emit writes what the target's runtime reads. The last range ends for msccl, which has memory for the largest call of a program, where
// the sizes do that were asked for.
func (a *app) emit(s *choose.Selector, f *selectFlags, list []choose.Stretch, end int64) error {
	if err := os.MkdirAll(f.emit, 0o777); err != nil {
		return diag.List{diag.New(diag.Io, fileSpan(f.emit), "%v", err)}
	}
	if s.Target.Format == codegen.FormatPlan {
		return a.emitTable(s, f, list)
	}
	if s.Target.Name == "msccl" && len(list) > mostMSCCL {
		a.say("note: msccl reads %d algorithms, of %d ranges the first ones", mostMSCCL, len(list))
		list = list[:mostMSCCL]
	}
	config := etree.NewElement("msccl_algos")
	for i, r := range list {
		p, err := s.Program(r.Form)
		if err != nil {
			return err
		}
		ranged := *p
		ranged.Sizes = ir.SizeRange{Min: r.From, Max: r.To}
		if i == 0 {
			ranged.Sizes.Min = 0
		}
		if r.To == 0 && s.Target.Name == "msccl" {
			ranged.Sizes.Max = end
		}
		name := fmt.Sprintf("%v_%d_%s_%s.xml", s.Call.Kind, i, strings.ReplaceAll(filepath.Base(r.Program), ".", "_"), strings.ToLower(r.Protocol))
		if err := a.writeTo(filepath.Join(f.emit, name), func(w io.Writer) error { return codegen.WriteMSCCL(w, &ranged, s.Target) }); err != nil {
			return err
		}
		load := config.CreateElement("load")
		load.CreateAttr("path", filepath.Join(f.emit, name))
		load.CreateAttr("minbytes", fmt.Sprint(ranged.Sizes.Min))
		load.CreateAttr("maxbytes", fmt.Sprint(ranged.Sizes.Max))
		load.CreateAttr("proto", r.Protocol)
	}
	if s.Target.Name != "msccl" {
		return nil
	}
	doc := etree.NewDocument()
	doc.SetRoot(config)
	doc.Indent(2)
	return a.writeTo(filepath.Join(f.emit, "msccl.xml"), func(w io.Writer) error {
		_, err := doc.WriteTo(w)
		return err
	})
}

func (a *app) emitTable(s *choose.Selector, f *selectFlags, list []choose.Stretch) error {
	device := f.device
	if device == "" {
		device = s.Topology.Device
	}
	e := choose.Entry{Device: device, Ranks: s.Call.Ranks, Collective: s.Call.Kind.String(), Inplace: s.Call.Inplace}
	for _, r := range list {
		for k, wide := range r.Widths {
			rule := choose.Rule{Variant: r.Variant, Micros: hundredths(wide.Micros)}
			if rule.Columns = wide.Columns; k+1 < len(r.Widths) {
				rule.UpTo = r.Widths[k+1].From - 1
			} else if r.To > 0 {
				rule.UpTo = r.To - 1
			}
			e.Rules = append(e.Rules, rule)
		}
	}
	table := &choose.Table{}
	table.Put(e)
	return a.writeTo(filepath.Join(f.emit, s.Call.Kind.String()+".table"), func(w io.Writer) error { return table.Write(w) })
}
