package benchcmd

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"slices"

	"mscclc/algorithms/choose"
	"mscclc/bench"
	"mscclc/cmd/mscclc/internal/choosing"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/devices"
	"mscclc/executor/data"
	"mscclc/files"
	"mscclc/ir/diag"
)

// mostMeasured bounds the measurements of one size and placement.
const mostMeasured = 400

// tuneAll measures the variants of a collective at all sizes, and writes what is
// fastest to the table, among what the table has of other calls.
func tuneAll(ctx context.Context, a *cli.App, w *benchWorld) error {
	table := &choose.Table{Version: choose.TableVersion}
	if old, err := files.Open(w.out); err == nil {
		table, err = w.own.ReadTable(w.out, old)
		old.Close()
		if err != nil {
			return err
		}
	} else if w.out != "" && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	search := &bench.Search{Site: w.site, Measuring: w.searching(), Most: mostMeasured}
	w.bar = a.Progress(2*len(w.sizes), "tune")
	stop := w.bar.Watch()
	defer stop()
	found, failed := 0, error(nil)
	for _, inplace := range [2]bool{false, true} {
		if !w.measures(inplace) || failed != nil {
			continue
		}
		var entry choose.Entry
		// what was found counts, whatever came then
		if entry, failed = tunePlacement(ctx, a, w, search, inplace); len(entry.Rules) > 0 {
			table.Put(entry)
			found++
		}
	}
	if found == 0 && failed != nil {
		return failed
	}
	if found == 0 {
		where := ""
		if w.place != "both" {
			where = " " + choosing.PlaceName(w.place == "in")
		}
		return diag.List{diag.New(diag.Unavailable, diag.Span{}, "no variant of %v runs%s with %s on %s", w.coll.Kind,
			where, diag.Counted(w.coll.Ranks, "rank"), w.site.Name())}
	}
	stop()
	return writeTable(a, w.out, table, failed)
}

// A TunedDocument is what bench --tune --json prints: the table, which --table reads.
type TunedDocument struct {
	Schema int    `json:"schema"`
	Output string `json:"output,omitempty" doc:"the file that it was written to"`
	*choose.Table
	Problems []diag.Problem `json:"problems"`
	cli.Noted
}

// writeTable writes what was tuned until something failed, or nothing did.
func writeTable(a *cli.App, file string, table *choose.Table, failed error) error {
	write := func(out io.Writer) error { return table.Write(out) }
	if !a.JSON {
		return errors.Join(a.WriteTo(file, write), failed)
	}
	doc := TunedDocument{cli.Schema, file, table, []diag.Problem{}, a.Notes.List()}
	code := cli.ExitGood
	if failed != nil {
		var list diag.List
		list, code = cli.FailureOf(failed, a.File)
		doc.Problems = diag.Report(a.File, list).Problems
	}
	if file != "" {
		if err := a.WriteTo(file, write); err != nil {
			return err
		}
	}
	if err := a.WriteJSON(doc); err != nil || code == cli.ExitGood {
		return err
	}
	return cli.ReportedError{Code: code}
}

// tunePlacement measures one placement at all sizes.
func tunePlacement(ctx context.Context, a *cli.App, w *benchWorld, search *bench.Search,
	inplace bool) (choose.Entry, error) {
	call := w.call(inplace)
	entry := choose.Entry{Device: w.site.Name(), Ranks: call.Ranks, Collective: call.Kind.String(), Inplace: inplace}
	widths := map[string]bench.Form{} // that the size before ran best with, by name
	for i, bytes := range w.sizes {
		c := &bench.Call{Coll: bench.Whole(w.coll, inplace), DType: w.dtype, RedOp: w.redop}
		c.Elems = data.PieceElems(c.Coll, bytes, w.dtype)
		forms, variants, err := w.candidates(call, c.Bytes(), widths)
		if errors.Is(err, choose.ErrNotInPlace) || err == nil && len(forms) == 0 {
			return entry, nil // the collective has no program in this placement
		}
		if err != nil {
			return entry, devices.Impossible(err)
		}
		tried, err := search.Tune(ctx, c, forms)
		if err != nil {
			return entry, devices.Impossible(err)
		}
		best := tried[0]
		for _, t := range slices.Backward(tried) {
			widths[t.Name] = t.Form
		}
		v := variants[best.Name]
		v.Columns, v.Threads, v.Tile = best.Columns, best.Threads, best.Tile
		if devices.GPUs[w.device] == nil {
			v.Threads = 0 // which only a GPU's blocks have
		}
		w.bar.Step()
		w.bar.Over(func() {
			note := choosing.DifferNote(v.Program, w.chooser.Differs(v, call), w.dtype)
			if note != "" {
				note = " (" + note + ")"
			}
			a.Say("%v %s %s: %.2f us, %v%s", call.Kind, choosing.PlaceName(inplace), cli.SizeText(c.Bytes()), best.Micros, v, note)
		})
		entry.Rules = ruled(entry.Rules, choose.Rule{Variant: v, Micros: math.Round(best.Micros*100) / 100}, w.sizes,
			i, w.factor)
	}
	return entry, nil
}

// Variants are measured whose simulated time is within so many times the best, and of these at most so many in one lane
// and in several.
const withinBest, mostOneLane, mostLaned = 2.5, 8, 6

// candidates are the forms whose simulated time is within a factor of the best, the most likely first, and few of those
// with several lanes; each as wide as it was best before, as the executor makes it, and as a guess has it. Variants are
// by the names of the forms.
func (w *benchWorld) candidates(call choose.Call, bytes int64,
	before map[string]bench.Form) (forms []*bench.Form, variants map[string]choose.Variant, err error) {
	variants = map[string]choose.Variant{}
	var tried [2]int // with one lane, and with several
	ranked, micros, err := w.chooser.Ranked(call, bytes, w.dtype.Size())
	if err != nil {
		return nil, variants, err
	}
	var port []*bench.Form
	for i, v := range ranked {
		several := 0
		if v.Lanes > 1 {
			several = 1
		}
		far := tried[several] >= [2]int{mostOneLane, mostLaned}[several] || micros[i] > withinBest*micros[0]
		if far && !w.own.Has(v.Program) { // the user's own are measured in any case
			continue
		}
		f, err := w.variant(v, call)
		if err != nil {
			continue
		}
		variants[f.Name] = v
		tried[several]++
		if b, ok := before[f.Name]; ok {
			wide := *f
			wide.Columns, wide.Threads, wide.Tile = b.Columns, b.Threads, b.Tile
			forms = append(forms, &wide)
		}
		guess := *f
		guess.Columns, guess.Threads = guessed(bytes)
		guess.Columns = max(1, guess.Columns/max(v.Lanes, 1)) // of which each has all lanes
		forms = append(forms, f, &guess)
		if p, ok := v.Ported(); ok && bytes >= portWorth && devices.GPUs[w.device] != nil {
			if f, err := w.variant(p, call); err == nil {
				variants[f.Name] = p
				port = append(port, f)
			}
		}
	}
	return append(forms, port...), variants, nil
}

// portWorth are the bytes of a call from which on it is tried whether copies by a port are sooner.
const portWorth = 1 << 20

// guessed is a width that is about right on GPUs with some hundred multiprocessors.
func guessed(bytes int64) (columns, threads int) {
	switch {
	case bytes <= 16<<10:
		return 4, 128
	case bytes <= 256<<10:
		return 16, 256
	case bytes <= 2<<20:
		return 32, 512
	}
	return 64, 512
}

// large are the bytes of a call from which on nothing changes any more.
const large = 1 << 30

// ruled adds the rule of size i. Between two sizes that were measured, each rules
// its half, as the logarithm goes, and the last one as far as if another by factor came, if it is not
// large; equal neighbours are one rule.
func ruled(rules []choose.Rule, r choose.Rule, sizes []int64, i int, factor int64) []choose.Rule {
	switch {
	case i+1 < len(sizes):
		r.UpTo = int64(math.Sqrt(float64(sizes[i]) * float64(sizes[i+1])))
	case sizes[i] < large:
		r.UpTo = int64(float64(sizes[i]) * math.Sqrt(float64(factor)))
	}
	if n := len(rules); n > 0 && rules[n-1].Variant == r.Variant {
		rules[n-1] = r
		return rules
	}
	return append(rules, r)
}
