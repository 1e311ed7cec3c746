package lsp

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"mscclc/ir/diag"
	"mscclc/lang"
	"mscclc/lang/syntax"
)

// This file finds where names are declared and used, and renames them.

// mostFiles is how many files of the workspace are searched for the uses of a function.
const mostFiles = 1000

// declAt returns the name at a position, or nil.
func (d *snapshot) declAt(p position) *decl {
	if !d.isSource() {
		return nil
	}
	u := d.analysis().names.useAt(d.offset(p))
	if u == nil {
		return nil
	}
	return u.decl
}

// definition returns where a name is declared, or the file that an import names.
func definition(d *snapshot, p *documentParams) (any, error) {
	if x := d.declAt(p.Position); x != nil {
		if at, ok := d.locationOf(x.at); ok {
			return at, nil
		}
		return nil, nil
	}
	if !d.isSource() {
		return nil, nil
	}
	at := d.offset(p.Position)
	for _, w := range d.analysis().names.imports {
		if w.Offset <= at && at <= w.Offset+len(w.Text) {
			file := filepath.Join(filepath.Dir(d.path), strings.Trim(w.Text, `"`))
			if other := d.server.other(file); other != nil {
				return location{other.uri, textRange{}}, nil
			}
		}
	}
	return nil, nil
}

// references returns the uses of a name, in all files for a function.
func references(d *snapshot, p *documentParams) (any, error) {
	list := []location{}
	x := d.declAt(p.Position)
	if x == nil {
		return list, nil
	}
	for _, o := range d.files(x) {
		for _, at := range o.usesOf(x) {
			if at != x.at || p.Context.IncludeDeclaration {
				list = append(list, location{o.uri, o.rangeOf(at)})
			}
		}
	}
	return list, nil
}

// usesOf returns the places of d that name x, which may be of another file.
func (d *snapshot) usesOf(x *decl) (list []diag.Span) {
	for _, u := range d.analysis().names.uses {
		if u.decl != nil && u.decl.at == x.at {
			list = append(list, u.at)
		}
	}
	return list
}

// files returns d and, for what other files see, the files of the workspace that may use it.
func (d *snapshot) files(x *decl) []*snapshot {
	list := []*snapshot{d}
	if x.kind != aFunction && x.kind != anArgument {
		return list
	}
	s := d.server
	s.mu.Lock()
	root := s.root
	for _, o := range s.docs {
		if o != d && o.isSource() {
			list = append(list, o)
		}
	}
	s.mu.Unlock()
	var paths []string
	if s.opt.List != nil && root != "" {
		paths = s.opt.List(root)
	}
	paths = append(paths, x.at.Filename)
	for _, path := range paths[:min(len(paths), mostFiles)] {
		if slices.ContainsFunc(list, func(o *snapshot) bool { return o.path == path }) {
			continue
		}
		if o := s.other(path); o != nil {
			list = append(list, o)
		}
	}
	slices.SortFunc(list[1:], func(a, b *snapshot) int { return strings.Compare(a.uri, b.uri) })
	return list
}

// prepareRename returns the place of a name that can be renamed.
func prepareRename(d *snapshot, p *documentParams) (any, error) {
	if d.declAt(p.Position) == nil {
		return nil, &rpcError{requestFailed, "there is no name here that the file declares"}
	}
	return d.rangeOf(d.analysis().names.useAt(d.offset(p.Position)).at), nil
}

// rename gives a name another text wherever it is used. It refuses a text that is no name, and one that would change
// what another name stands for.
func rename(d *snapshot, p *documentParams) (any, error) {
	x := d.declAt(p.Position)
	if x == nil {
		return nil, &rpcError{requestFailed, "there is no name here that the file declares"}
	}
	if why := notAName(p.NewName); why != "" {
		return nil, &rpcError{requestFailed, why}
	}
	edit := workspaceEdit{map[string][]textEdit{}}
	for _, o := range d.files(x) {
		uses := o.usesOf(x)
		if len(uses) == 0 {
			continue
		}
		if err := o.captures(uses, x, p.NewName); err != nil {
			return nil, err
		}
		for _, at := range uses {
			edit.Changes[o.uri] = append(edit.Changes[o.uri], textEdit{o.rangeOf(at), p.NewName})
		}
	}
	return edit, nil
}

// notAName says why a text is no name that a file can declare, or returns "".
func notAName(text string) string {
	words := syntax.Words("", []byte(text), syntax.Limits{})
	switch {
	case len(words) != 1 || words[0].Kind != syntax.NameWord || words[0].Text != text:
		return "a name consists of letters, digits and _"
	case slices.ContainsFunc(lang.Names(), func(n lang.NameInfo) bool { return n.Name == text }):
		return text + " is a word of the language"
	}
	return ""
}

// captures returns an error if, with another text at uses, some name of d stood for another thing than now.
func (d *snapshot) captures(uses []diag.Span, x *decl, becomes string) error {
	var b strings.Builder
	moved := map[int]int{} // where each use is afterwards
	from := 0
	all := d.analysis().names.uses
	next := 0
	for _, u := range all {
		at := u.at.Offset
		if next < len(uses) && uses[next] == u.at {
			b.Write(d.text[from:at])
			moved[at] = b.Len()
			b.WriteString(becomes)
			from = at + u.at.Len
			next++
			continue
		}
		moved[at] = b.Len() + at - from
	}
	b.Write(d.text[from:])
	other := func(path string) map[string]*decl { // the functions that are imported are renamed with it
		found := d.importedNames(path)
		if f := found[x.name]; f != nil && f.at == x.at {
			delete(found, x.name)
			found[becomes] = f
		}
		return found
	}
	after := resolve(syntax.Words(d.path, []byte(b.String()), lightLimits), other)
	for _, u := range all {
		v := after.useAt(moved[u.at.Offset])
		same := v != nil && (u.decl == nil) == (v.decl == nil)
		if same && u.decl != nil && u.decl.at.Filename == d.path {
			same = v.decl.at.Offset == moved[u.decl.at.Offset]
		}
		if !same {
			return &rpcError{requestFailed, fmt.Sprintf("%s would mean something else on line %d", becomes, u.at.Line)}
		}
	}
	return nil
}
