package bundle

import (
	"encoding/binary"
	"os"
	"reflect"
	"regexp"
	"slices"
	"testing"
)

// rowTypes are the rows of a bundle, with their names in the library.
var rowTypes = []struct {
	row  any
	name string
}{
	{header{}, "bundle_header"}, {section{}, "bundle_section"}, {setRow{}, "bundle_set"}, {RuleRow{}, "bundle_rule"},
	{ProgramRow{}, "bundle_program"}, {partRow{}, "bundle_part"}, {netRow{}, "bundle_net"}, {namedRow{}, "bundle_named"},
	{bufferRow{}, "bundle_buffer"}, {imageRow{}, "bundle_image"},
}

// TestRowTypes holds that rowTypes has all rows, and that rows have no bytes between their fields: so C++ lays out the
// same fields alike.
func TestRowTypes(t *testing.T) {
	text, err := os.ReadFile("../runtime/src/bundle/rows_gen.h")
	if err != nil {
		t.Fatal(err)
	}
	var names, want []string
	for _, r := range rowTypes {
		names = append(names, r.name)
		if n, size := binary.Size(r.row), reflect.TypeOf(r.row).Size(); n != int(size) {
			t.Errorf("%s is written in %d bytes, and has %d", r.name, n, size)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^struct (bundle_\w+)`).FindAllStringSubmatch(string(text), -1) {
		want = append(want, m[1])
	}
	if slices.Sort(names); !slices.Equal(names, sorted(want)) {
		t.Errorf("rows_gen.h has %v, and this test %v", want, names)
	}
}
