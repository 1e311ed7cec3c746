package main

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"mscclc/algorithms"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/lang/syntax"

	"github.com/spf13/pflag"
)

// TestCatalogJSON: catalog.json has what the files of the catalog say of themselves; MSCCLC_UPDATE=1 writes it.
func TestCatalogJSON(t *testing.T) {
	listings := map[string]*listing{}
	for _, name := range algorithms.Names() {
		s, err := silent().Open(name, &cli.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		l, ok, err := describe(s, &cli.Reading{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if listings[name] = nil; ok {
			listings[name] = &l
		}
	}
	text, err := json.MarshalIndent(listings, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if text = append(text, '\n'); bytes.Equal(text, catalogJSON) {
		return
	}
	if os.Getenv("MSCCLC_UPDATE") == "" {
		t.Fatal("catalog.json is not what the catalog says of itself; MSCCLC_UPDATE=1 writes it")
	}
	if err := os.WriteFile("catalog.json", text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestListReadsAgain: flags that change how files are read have list read the catalog's files.
func TestListReadsAgain(t *testing.T) {
	for _, flags := range [][]string{nil, {"--limit", "ops=8M"}, {"--import-path", "."}} {
		var from cli.Reading
		set := pflag.NewFlagSet("list", pflag.ContinueOnError)
		from.Flags(set, syntax.LimitNames())
		if err := set.Parse(flags); err != nil {
			t.Fatal(err)
		}
		if want := flags == nil; from.Usual() != want {
			t.Errorf("%v: usual is %v", flags, !want)
		}
		s, err := silent().Open("allreduce/ring", &from.Limits)
		if err != nil {
			t.Fatal(err)
		}
		l, ok, err := inCatalog(s, &from)
		if err != nil || !ok || l.Algorithm != "ring" || l.File != "allreduce/ring.mscl" || l.Shape == nil {
			t.Errorf("%v: %+v, %v, %v", flags, l, ok, err)
		}
	}
}
