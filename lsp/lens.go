package lsp

import (
	"fmt"
	"slices"
	"strings"

	"mscclc/ir/diag"
	"mscclc/lang"
	"mscclc/lang/syntax"
)

// This file says beside the text what is known of it: the verdict, and what loops and variables come to.

// codeLenses returns the verdict of a document, and what can be done with it.
func codeLenses(d *snapshot, _ *documentParams) (any, error) {
	if d.isMachine() {
		return d.machineLens(), nil
	}
	title := d.verdict()
	if title == "" {
		return []codeLens{}, nil
	}
	at := d.rangeOf(diag.Span{})
	if a := d.analysis(); a.tree != nil {
		at = d.rangeOf(a.tree.Info().Span)
	}
	lenses := []codeLens{{at, command{title, "mscclc.verify", []any{d.uri}}}}
	does := []string{"play"} // which shows wrong programs, too
	if !d.problemsNow().Rejects() {
		does = []string{"run", "simulate", "play"}
	}
	for _, what := range does {
		lenses = append(lenses, codeLens{at, command{what, "mscclc." + what, []any{d.uri}}})
	}
	return lenses, nil
}

// verdict says what is known of a program: "8 ranks, proven, 120 steps, 44.6 us on h200 at 1 MiB". It is "" for a
// library.
func (d *snapshot) verdict() string {
	a, p := d.analysis(), d.proofNow()
	var says []string
	switch {
	case d.isSource() && a.tree != nil && lang.IsLibrary(a.tree):
		return ""
	case a.ranks > 0:
		says = append(says, diag.Counted(a.ranks, "rank"))
	case p != nil && p.program != nil:
		says = append(says, diag.Counted(p.program.Coll.Ranks, "rank"))
	}
	switch {
	case a.tooLarge:
		return "too large to be proven while it is edited: mscclc verify proves it"
	case d.problemsNow().Rejects():
		says = append(says, diag.Counted(len(d.problemsNow()), "problem"))
	case p == nil:
		says = append(says, "not proven yet")
	case !p.proven:
		return ""
	default:
		says = append(says, "proven", diag.Counted(len(p.program.Steps), "step"))
	}
	if p != nil && p.latency > 0 {
		d.server.mu.Lock()
		bytes := d.server.bytes
		d.server.mu.Unlock()
		says = append(says, fmt.Sprintf("%.1f us on %s at %s", p.latency, p.machine, diag.SizeText(bytes)))
	}
	if a.fewer {
		says = append(says, fmt.Sprintf("for %d ranks, as its own are too many while it is edited", fewRanks))
	}
	return strings.Join(says, ", ")
}

// inlayHints says how often the blocks of loops run, and which value a variable has where it has one.
func inlayHints(d *snapshot, p *documentParams) (any, error) {
	hints := []inlayHint{}
	if !d.isSource() {
		return hints, nil
	}
	a := d.analysis()
	if a.facts == nil {
		return hints, nil
	}
	from, to := d.offset(p.Range.Start), d.offset(p.Range.End)
	add := func(at int, label string) {
		if at >= from && at <= to {
			hints = append(hints, inlayHint{d.position(at), label, true})
		}
	}
	for span, n := range a.facts.Rounds {
		if span.Filename == d.path {
			add(span.Offset+span.Len, fmt.Sprintf("× %d", n))
		}
	}
	for _, x := range a.names.decls {
		v := a.facts.Values[x.at]
		if x.kind == aVariable && v != nil && len(v.Texts) == 1 && !v.More {
			add(x.at.Offset+x.at.Len, "= "+v.Texts[0])
		}
	}
	slices.SortFunc(hints, func(x, y inlayHint) int {
		if x.Position.Line != y.Position.Line {
			return x.Position.Line - y.Position.Line
		}
		return x.Position.Character - y.Position.Character
	})
	return hints, nil
}

// symbols lists what a document declares.
func symbols(d *snapshot, _ *documentParams) (any, error) {
	list := []documentSymbol{}
	if d.isMachine() {
		return d.machineSymbols(), nil
	}
	if !d.isSource() {
		return list, nil
	}
	n := d.analysis().names
	for i := range n.words {
		if n.words[i].Text == "algorithm" && i+1 < len(n.words) {
			list = append(list, d.symbol(n.words[i+1].Span, n.words[i+1].Text, "algorithm", symbolModule))
			break
		}
	}
	kinds := map[declKind]int{aParameter: symbolConstant, aScratch: symbolArray, aFunction: symbolFunction,
		aVariable: symbolVariable}
	for _, x := range n.decls {
		kind, shown := kinds[x.kind]
		if !shown || x.level > 0 {
			continue
		}
		detail := declWords[x.kind]
		if x.kind == aFunction {
			detail = x.header
		}
		list = append(list, d.symbol(x.at, x.name, detail, kind))
	}
	return list, nil
}

func (d *snapshot) symbol(at diag.Span, name, detail string, kind int) documentSymbol {
	r := d.rangeOf(at)
	return documentSymbol{name, detail, kind, r, r}
}

// foldings returns the blocks of more than one line, and the comments.
func foldings(d *snapshot, _ *documentParams) (any, error) {
	list := []foldingRange{}
	if !d.isSource() && !d.isMachine() {
		return list, nil
	}
	var open []int
	comment := -1
	words := syntax.Words(d.path, d.text, lightLimits)
	for i := range words {
		w := &words[i]
		line := w.Line - 1
		if w.Kind == syntax.CommentWord {
			if n := len(list); comment >= 0 && n > 0 && list[n-1].Kind == "comment" && list[n-1].EndLine == line-1 {
				list[n-1].EndLine = line
			} else {
				list = append(list, foldingRange{line, line, "comment"})
			}
			comment = line
			continue
		}
		switch w.Text {
		case "{", "[", "(":
			open = append(open, line)
		case "}", "]", ")":
			if n := len(open); n > 0 {
				if open[n-1] < line-1 {
					list = append(list, foldingRange{StartLine: open[n-1], EndLine: line - 1})
				}
				open = open[:n-1]
			}
		}
	}
	return slices.DeleteFunc(list, func(f foldingRange) bool { return f.StartLine == f.EndLine }), nil
}

// format returns the edit that gives a document its one format. A text that is not of the grammar stays as it is.
func format(d *snapshot, _ *documentParams) (any, error) {
	if !d.isSource() {
		return nil, nil
	}
	good, err := syntax.FormatLimited(d.path, d.text, lightLimits)
	if err != nil || string(good) == string(d.text) {
		return []textEdit{}, nil
	}
	return []textEdit{{d.between(0, len(d.text)), string(good)}}, nil
}
