package mscclc_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"mscclc/codegen"
	"mscclc/codegen/msccl"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/verify"
)

// silent are the faults of MSCCLang after which there is no wrong program: it
// crashed, took for ever, or compiled what its author did not ask for.
var silent = []string{"more than 32 fused flows", "diamonds", "a chain of 5,000 hops", "a last chunk that nothing uses",
	"ch left out after it was given"}

// TestFaultyPrograms judges programs such as MSCCLang's faults make
// (testdata/faults.txtar): each is rejected, by the name of what is wrong. A
// section is NAME/CODES, and every fault of TestFaultsOfMSCCLang has one.
func TestFaultyPrograms(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/faults.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	for _, f := range archive.Files {
		name, codes, _ := strings.Cut(f.Name, "/")
		found := judged(f.Data)
		var got []string
		for _, code := range slices.Sorted(maps.Keys(found)) {
			got = append(got, string(code))
			fmt.Fprintf(&table, "\n%-50s | %-13s | %s", name, code, found[code])
		}
		if strings.Join(got, ",") != codes {
			t.Errorf("%s: found %v, want %s", name, found, codes)
		}
	}
	t.Logf("%s", table.String())
	for _, f := range faults {
		if has := slices.ContainsFunc(archive.Files,
			func(a txtar.File) bool { return strings.HasPrefix(a.Name, f.name) }); has == slices.Contains(silent, f.name) {
			t.Errorf("%s: a program: %v", f.name, has)
		}
	}
}

// judged returns what reading and verifying an XML finds: the first message of each
// code.
func judged(src []byte) map[diag.Code]string {
	p, err := msccl.Read("fault.xml", bytes.NewReader(src), codegen.ReadOptions{})
	var list diag.List
	if err != nil && !errors.As(err, &list) {
		list = diag.List{diag.New(diag.Internal, diag.Span{}, "%v", err)}
	}
	if err == nil {
		_, list = verify.Check(either.OfFifo(p), verify.Options{})
	}
	found := map[diag.Code]string{}
	for _, d := range list {
		if found[d.Code] == "" {
			found[d.Code] = d.Text
		}
	}
	return found
}
