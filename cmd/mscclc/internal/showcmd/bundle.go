package showcmd

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"mscclc/bundle"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/ir/diag"
)

// showBundle prints a bundle: its rules, programs and images.
func showBundle(a *cli.App, arg, stage string, text []byte, f *showFlags) error {
	switch {
	case stage != "":
		return cli.Usagef("%s is a bundle, which has no stages", diag.Printable(arg))
	case f.Unfit(compiledShow...) != "":
		return cli.Usagef("%s is a bundle: %s is for algorithms", diag.Printable(arg), f.Unfit(compiledShow...))
	}
	if err := cli.WrongEnding("-o", f.out, cli.TextEndings, "a bundle is shown as text"); err != nil {
		return err
	}
	b, err := bundle.Decode(arg, text)
	if err != nil {
		return err
	}
	info := b.Info()
	var w bytes.Buffer
	writeBundle(&w, &info, len(text))
	doc := Document{Report: a.Noted(cli.NewReport(arg, nil, nil)), Stage: "bundle", Bundle: &info}
	if a.JSON && cli.IsStdout(f.out) {
		doc.Text = w.String()
		return a.WriteJSON(doc)
	}
	err = a.WriteTo(f.out, func(out io.Writer) error {
		_, err := w.WriteTo(out)
		return err
	})
	if err == nil && a.JSON {
		doc.Output = f.out
		err = a.WriteJSON(doc)
	}
	return err
}

func writeBundle(w io.Writer, b *bundle.Info, size int) {
	fmt.Fprintf(w, "bundle for %s: %s; %s\n", diag.Printable(b.Device), strings.Join(b.DTypes, ", "), roughly(uint64(size)))
	for _, line := range [][2]string{{"made by", b.Maker}, {"rules are", b.Note}, {"kernels", b.Kernels}} {
		if line[1] != "" {
			fmt.Fprintf(w, "%s %s\n", line[0], diag.Printable(line[1]))
		}
	}
	for i := range b.Sets {
		s := &b.Sets[i]
		fmt.Fprintf(w, "\n%s: up to %s, %s of memory a rank\n\n", bundle.SetTitle(s.Ranks, s.Nodes, s.Bits),
			diag.Counted(s.CTAs, "CTA"), roughly(s.Arena))
		fmt.Fprintf(w, "%s\n\n%s\n", cli.Table(ruleRows(s.Rules)...), cli.Table(programRows(s.Programs)...))
		if rows := namedRows(s.Programs); len(rows) > 1 {
			fmt.Fprintf(w, "\n%s\n", cli.Table(rows...))
		}
	}
	rows := []string{"image\tform\tfor\tbytes"}
	for _, m := range b.Images {
		rows = append(rows, fmt.Sprintf("%s\t%s\tsm_%d\t%s", m.Name, m.Form, m.Target, roughly(uint64(m.Bytes))))
	}
	fmt.Fprintf(w, "\n%s\n", cli.Table(rows...))
}

func ruleRows(rules []bundle.RuleInfo) []string {
	rows := []string{"collective\ttype\top\troot\tlaunches\tcalls\tup to\tprogram\tnumber\treplicas\tCTAs\tthreads\ttile"}
	for _, r := range rules {
		rows = append(rows, strings.Join([]string{r.Collective, orAny(r.DType), orAny(r.RedOp), numberOr(r.Root, "any"),
			r.Launches(), orAny(nonzero(uint64(r.Calls))), orAny(bytesText(r.UpTo)), r.Program, numberOr(r.Number, "-"),
			orDash(nonzero(uint64(r.Replicas))), orDash(nonzero(uint64(r.CTAs))), orDash(nonzero(uint64(r.Threads))),
			orDash(bytesText(r.Tile))}, "\t"))
	}
	return rows
}

func programRows(programs []bundle.ProgramInfo) []string {
	rows := []string{"number\tprogram\troot\tproven\tblocks\treplicas\ttile\tat\tmemory\ton the host\tsignals between nodes"}
	for _, p := range programs {
		proven := "out of place"
		if p.InPlace && p.OutOfPlace {
			proven = "in place, out of place"
		} else if p.InPlace {
			proven = "in place"
		}
		if p.Ordered {
			proven += ", in the order of ranks"
		}
		if p.Bitwise {
			proven += ", same bits"
		}
		rows = append(rows, fmt.Sprintf("%d\t%s\t%s\t%s\t%d\t%d\t%s\t%d\t%s\t%s\t%s", p.Number, p.Title, numberOr(p.Root, "-"),
			proven, p.Blocks, p.Replicas, bytesText(p.Tile), p.At, roughly(p.Memory), roughlyOrDash(p.Pinned),
			orDash(nonzero(uint64(p.Messages)))))
	}
	return rows
}

// namedRows lists the programs that jobs run by their names, with the units of their buffers by rank.
func namedRows(programs []bundle.ProgramInfo) []string {
	rows := []string{"name\tnumber\tbuffer\tunits by rank"}
	for _, p := range programs {
		for _, b := range p.Buffers {
			rows = append(rows, fmt.Sprintf("%s\t%d\t%s\t%s", diag.Printable(p.Name), p.Number, b.Name, unitsText(b.Units)))
		}
	}
	return rows
}

// unitsText is one number if all ranks have as many.
func unitsText(units []uint32) string {
	if len(units) > 0 && len(slices.Compact(slices.Clone(units))) == 1 {
		return strconv.Itoa(int(units[0]))
	}
	return strings.Trim(fmt.Sprint(units), "[]")
}

func orAny(s string) string {
	if s == "" {
		return "any"
	}
	return s
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func numberOr(n *int, none string) string {
	if n == nil {
		return none
	}
	return strconv.Itoa(*n)
}

// nonzero is n, or "" for 0.
func nonzero(n uint64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatUint(n, 10)
}

// roughly is n to three digits or so, with its unit.
func roughly(n uint64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%.1fK", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1fM", float64(n)/(1<<20))
}

func roughlyOrDash(n uint64) string {
	if n == 0 {
		return "-"
	}
	return roughly(n)
}

// bytesText is n with its unit as sizes are given to commands, or "" for 0.
func bytesText(n uint64) string {
	for _, u := range []struct {
		shift int
		name  string
	}{{30, "G"}, {20, "M"}, {10, "K"}} {
		if n >= 1<<u.shift && n%(1<<u.shift) == 0 {
			return strconv.FormatUint(n>>u.shift, 10) + u.name
		}
	}
	return nonzero(n)
}
