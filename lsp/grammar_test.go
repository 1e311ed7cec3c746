package lsp

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mscclc/ir/diag"
	"mscclc/lang"
	"mscclc/lang/syntax"
)

const extension = "../editors/vscode/"

// words are the words of the language, from its own tables.
type words struct {
	Keywords    []string `json:"keywords"`
	Constants   []string `json:"constants"`
	Collectives []string `json:"collectives"`
	Protocols   []string `json:"protocols"`
	Operations  []string `json:"operations"` // methods of references
	Functions   []string `json:"functions"`
	Buffers     []string `json:"buffers"`
}

func languageWords() words {
	w := words{Constants: []string{"true", "false"}, Protocols: lang.Protocols()}
	for _, n := range lang.Names() {
		if n.Function {
			w.Functions = append(w.Functions, n.Name)
		} else {
			w.Buffers = append(w.Buffers, n.Name)
		}
	}
	for name := range lang.CollectiveArguments() {
		w.Collectives = append(w.Collectives, name)
	}
	slices.Sort(w.Collectives)
	for _, n := range lang.Operations() {
		w.Operations = append(w.Operations, n.Name)
	}
	w.Keywords = slices.DeleteFunc(syntax.Keywords(), func(k string) bool { return slices.Contains(w.Constants, k) })
	return w
}

// grammar is the TextMate grammar of the language.
func grammar() map[string]any {
	match := func(name, pattern string) map[string]any { return map[string]any{"name": name, "match": pattern} }
	anyOf := func(list []string) string { return `\b(` + strings.Join(list, "|") + `)\b` }
	w := languageWords()
	return map[string]any{"$schema": "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json",
		"name": "MSCL", "scopeName": "source.mscl", "fileTypes": []string{"mscl"}, "patterns": []any{
			match("comment.line.number-sign.mscl", "#.*$"), match("string.quoted.double.mscl", `"[^"\n]*"`),
			match("support.type.collective.mscl", `(?<=\bcollective )`+anyOf(w.Collectives)),
			match("entity.name.function.mscl", `(?<=\b(?:def|algorithm) )\w+`),
			match("constant.language.protocol.mscl", `(?<=\bprotocol )`+anyOf(w.Protocols)),
			match("support.function.operation.mscl", `(?<=\.)`+anyOf(w.Operations)),
			match("keyword.control.mscl", anyOf(w.Keywords)), match("constant.language.mscl", anyOf(w.Constants)),
			match("support.function.mscl", anyOf(w.Functions)+`(?=\s*\()`),
			match("variable.language.mscl", anyOf(w.Buffers)),
			match("constant.numeric.mscl", `\b\d[\d_]*([KMGkmg]([iI]?[bB])?)?\b`),
			match("keyword.operator.mscl", `\.\.|&&|\|\||==|!=|<=|>=|<<|>>|[-+*/%<>&|^!=]`)}}
}

// TestGrammar compares the grammar of the extension and the words of the page with the language. MSCCLC_UPDATE writes
// them.
func TestGrammar(t *testing.T) {
	for file, value := range map[string]any{
		extension + "syntaxes/mscl.tmLanguage.json": grammar(),
		"../play/page/src/words.json":               languageWords(),
	} {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if err := e.Encode(value); err != nil {
			t.Fatal(err)
		}
		if os.Getenv("MSCCLC_UPDATE") != "" {
			if err := os.WriteFile(file, b.Bytes(), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if old, err := os.ReadFile(file); err != nil || !bytes.Equal(old, b.Bytes()) {
			t.Errorf("%s is not that of the language (%v): MSCCLC_UPDATE=1 go test ./lsp -run TestGrammar", file, err)
		}
	}
}

// TestSnippets proves what the snippets of the extension write.
func TestSnippets(t *testing.T) {
	text, err := os.ReadFile(extension + "snippets/mscl.json")
	if err != nil {
		t.Fatal(err)
	}
	var snippets map[string]struct {
		Body []string `json:"body"`
	}
	if err := json.Unmarshal(text, &snippets); err != nil || len(snippets) == 0 {
		t.Fatalf("%d snippets, %v", len(snippets), err)
	}
	hole := regexp.MustCompile(`\$\{\d+:([^}]*)\}|\$0`)
	for name, s := range snippets {
		e := start(t, nil)
		p := e.open(uri, hole.ReplaceAllString(strings.Join(s.Body, "\n"), "$1")+"\n")
		e.idle()
		if got, _ := e.call("textDocument/codeLens", p); !strings.Contains(string(got), "8 ranks, proven") {
			t.Errorf("%s: %s%s", name, got, e.shown(uri))
		}
	}
}

// TestProblemMatcher matches what the command prints with the extension's pattern.
func TestProblemMatcher(t *testing.T) {
	text, err := os.ReadFile(extension + "package.json")
	if err != nil {
		t.Fatal(err)
	}
	var p struct {
		Contributes struct {
			Matchers []struct {
				Pattern struct {
					Regexp string `json:"regexp"`
				} `json:"pattern"`
			} `json:"problemMatchers"`
		} `json:"contributes"`
	}
	if err := json.Unmarshal(text, &p); err != nil || len(p.Contributes.Matchers) != 1 {
		t.Fatalf("%v, %v", p, err)
	}
	pattern := regexp.MustCompile(p.Contributes.Matchers[0].Pattern.Regexp)
	at := diag.Span{Pos: diag.Pos{Filename: "a b.mscl", Line: 3, Column: 14}, Len: 1}
	var b bytes.Buffer
	list := diag.List{diag.New(diag.Undefined, at, "x[1] is not defined"), diag.New(diag.LintCopy, at, "a copy")}
	if err := diag.Fprint(&b, list, nil, false); err != nil {
		t.Fatal(err)
	}
	found := []string{}
	for line := range strings.Lines(b.String()) {
		if m := pattern.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil {
			found = append(found, strings.Join(m[1:], "|"))
		}
	}
	want := []string{"a b.mscl|3|14|error|x[1] is not defined|undefined", "a b.mscl|3|14|warning|a copy|lint-copy"}
	if !slices.Equal(found, want) {
		t.Errorf("of\n%s\nit finds %q", b.String(), found)
	}
}
