package lsp

import (
	"path/filepath"
	"slices"
	"strings"

	"mscclc/lang"
	"mscclc/lang/syntax"
	"mscclc/topology"
)

// This file says what may be written at a place.

// words before an offset, without that which is being written there.
func (d *snapshot) before(offset int) []syntax.Word {
	words := d.analysis().names.words
	n, _ := slices.BinarySearchFunc(words, offset, func(w syntax.Word, at int) int { return w.Offset - at })
	if last := n - 1; last >= 0 {
		w := &words[last]
		written := w.Kind == syntax.NameWord || w.Kind == syntax.KeywordWord || w.Kind == syntax.StringWord
		if written && w.Offset+len(w.Text) >= offset {
			n = last
		}
	}
	return words[:n]
}

// last returns the text of the last of words, or "".
func last(words []syntax.Word, back int) string {
	if i := len(words) - back; i >= 0 && i < len(words) {
		return words[i].Text
	}
	return ""
}

func completion(d *snapshot, p *documentParams) (any, error) {
	list := []completionItem{}
	at := d.offset(p.Position)
	if d.isMachine() {
		for _, w := range machineWords {
			list = append(list, completionItem{Label: w, Kind: completeKeyword})
		}
		return list, nil
	}
	if !d.isSource() || d.inComment(at) {
		return list, nil
	}
	words := d.before(at)
	switch last(words, 1) {
	case ".":
		return items(lang.Operations()), nil
	case "collective":
		for kind, args := range lang.CollectiveArguments() {
			list = append(list, completionItem{kind, completeFunction, kind + "(" + strings.Join(args, ", ") + ")"})
		}
		return sorted(list), nil
	case "protocol":
		for _, name := range lang.Protocols() {
			list = append(list, completionItem{Label: name, Kind: completeValue})
		}
		return list, nil
	case "import":
		return d.libraries(), nil
	case "let", "def", "scratch", "algorithm":
		return list, nil // a new name
	}
	if last(words, 1) == "=" && last(words, 2) == "via" {
		for _, via := range []string{"memory", "port", "switch"} {
			list = append(list, completionItem{Label: via, Kind: completeValue})
		}
		return list, nil
	}
	list = append(list, d.arguments(words)...)
	list = append(list, d.visible(at)...)
	list = append(list, items(lang.Names())...)
	for _, k := range syntax.Keywords() {
		list = append(list, completionItem{Label: k, Kind: completeKeyword})
	}
	return list, nil
}

// inComment reports whether an offset is in a comment.
func (d *snapshot) inComment(offset int) bool {
	line := d.lines[d.position(offset).Line]
	words := syntax.Words(d.path, d.text[line:offset], lightLimits)
	return len(words) > 0 && words[len(words)-1].Kind == syntax.CommentWord
}

func items(names []lang.NameInfo) (list []completionItem) {
	for _, n := range names {
		item := completionItem{Label: n.Name, Kind: completeProperty}
		if n.Function {
			item.Kind, item.Detail = completeFunction, n.Name+"("+n.Arguments+")"
		}
		list = append(list, item)
	}
	return list
}

func sorted(list []completionItem) []completionItem {
	slices.SortFunc(list, func(a, b completionItem) int { return strings.Compare(a.Label, b.Label) })
	return list
}

// visible returns the names of the file that are seen at an offset, the innermost of those that are alike.
func (d *snapshot) visible(at int) (list []completionItem) {
	n := d.analysis().names
	inFunction := slices.ContainsFunc(n.decls, func(x *decl) bool {
		return x.level > 0 && x.from <= at && at <= x.to
	})
	seen := map[string]bool{}
	for _, x := range slices.Backward(n.decls) {
		hidden := inFunction && x.level == 0 && (x.kind == aVariable || x.kind == aLoop)
		if x.from > at || at > x.to || seen[x.name] || hidden {
			continue
		}
		seen[x.name] = true
		list = append(list, itemOf(x))
	}
	for name, x := range n.imported {
		if !seen[name] {
			list = append(list, itemOf(x))
		}
	}
	return sorted(list)
}

func itemOf(x *decl) completionItem {
	if x.kind == aFunction {
		return completionItem{x.name, completeFunction, x.header}
	}
	return completionItem{x.name, completeVariable, declWords[x.kind]}
}

// A call is the innermost call that an offset is in.
type call struct {
	label string // the function with its arguments
	args  []string
	arg   int // the argument that is being written
}

// callAt returns the call that words end in, or nil.
func (d *snapshot) callAt(words []syntax.Word) *call {
	depth, commas, named := 0, 0, ""
	for i := len(words) - 1; i > 0; i-- {
		switch w := &words[i]; w.Text {
		case ")", "]", "}":
			depth++
		case ",":
			if depth == 0 {
				commas++
			}
		case "=":
			if depth == 0 && commas == 0 {
				named = words[i-1].Text
			}
		case "{":
			return nil
		case "(", "[":
			if depth--; depth >= 0 {
				continue
			}
			if w.Text == "[" || words[i-1].Kind != syntax.NameWord {
				depth, commas = 0, 0
				continue
			}
			c := d.callOf(words[:i])
			if c == nil {
				return nil
			}
			c.arg = commas
			for k, a := range c.args {
				if name, _, _ := strings.Cut(a, " "); name == named {
					c.arg = k
				}
			}
			return c
		}
	}
	return nil
}

// callOf returns how the function that words end with is called, or nil.
func (d *snapshot) callOf(words []syntax.Word) *call {
	name, before := last(words, 1), last(words, 2)
	n := d.analysis().names
	if before == "collective" {
		if args := lang.CollectiveArguments()[name]; args != nil {
			return &call{label: name + "(" + strings.Join(args, ", ") + ")", args: args}
		}
		return nil
	}
	known := lang.Names()
	if before == "." {
		known = lang.Operations()
	} else if f := n.functions[name]; f != nil {
		return &call{label: f.header, args: f.args}
	} else if f := n.imported[name]; f != nil {
		return &call{label: f.header, args: f.args}
	}
	for _, k := range known {
		if k.Name == name && k.Function {
			return &call{label: name + "(" + k.Arguments + ")", args: strings.Split(k.Arguments, ", ")}
		}
	}
	return nil
}

// arguments returns the arguments that may be named where words end.
func (d *snapshot) arguments(words []syntax.Word) (list []completionItem) {
	c := d.callAt(words)
	if before := last(words, 1); c == nil || before != "(" && before != "," {
		return nil
	}
	for _, a := range c.args {
		name, _, _ := strings.Cut(a, " ")
		if name != "..." {
			list = append(list, completionItem{name + " = ", completeField, "argument of " + c.label})
		}
	}
	return list
}

// libraries returns the files that may be imported, as seen from d.
func (d *snapshot) libraries() []completionItem {
	list := []completionItem{}
	s := d.server
	if s.opt.List == nil {
		return list
	}
	folder := filepath.Dir(d.path)
	for _, path := range s.opt.List(folder) {
		if rel, err := filepath.Rel(folder, path); err == nil && path != d.path {
			list = append(list, completionItem{Label: filepath.ToSlash(rel), Kind: completeFile})
		}
	}
	return sorted(list)
}

// signatures returns how the function is called that a position is in the arguments of.
func signatures(d *snapshot, p *documentParams) (any, error) {
	if !d.isSource() {
		return nil, nil
	}
	c := d.callAt(d.before(d.offset(p.Position)))
	if c == nil {
		return nil, nil
	}
	one := signature{Label: c.label, Parameters: []parameter{}}
	for _, a := range c.args {
		one.Parameters = append(one.Parameters, parameter{a})
	}
	return signatureHelp{Signatures: []signature{one}, ActiveParameter: max(0, min(c.arg, len(c.args)-1))}, nil
}

// machineWords are those that a line of a machine begins with.
var machineWords = []string{"class", "device", "gpu", "link", "nic", "node", "switch", "topology"}

// machineNames returns the words of a machine that name something, as its lines declare them, with what they are.
func machineNames(t *topology.Topology) map[string]string {
	names := map[string]string{}
	for i := range t.Classes {
		names[t.Classes[i].Name] = classText(&t.Classes[i])
	}
	counts := map[string]int{}
	for _, p := range t.Places {
		counts[p.Group]++
	}
	for group, n := range counts {
		names[group] = groupText(group, n)
	}
	return names
}
