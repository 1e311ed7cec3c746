package bundle

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mscclc/bundle/limits"
	"mscclc/executor/data"
)

// rowTypes are the rows of runtime/src/bundle/rows.h, with the names of their fields there.
var rowTypes = []struct {
	row           any
	name, members string
}{
	{header{}, "bundle_header", "magic version sections bytes abi table pad"},
	{section{}, "bundle_section", "kind number offset bytes sha256 pad"},
	{setRow{}, "bundle_set", "ranks rules programs ctas arena image copier device node pad"},
	{RuleRow{}, "bundle_rule", "kind dtype redop root when pad0 program calls columns threads tile up_to"},
	{ProgramRow{}, "bundle_program", "kind ranks root chunks protocol depth one_pass copies lines even inplace " +
		"outofplace bitwise direct scratch packets flags blocks columns nodes tile scratch_at packets_at flags_at end_at " +
		"name pad2"},
	{partRow{}, "bundle_part", "blocks steps operands pad blocks_at steps_at operands_at pad1"},
	{netRow{}, "bundle_net", "messages segments inbox pad"},
	{namedRow{}, "bundle_named", "name buffers pad"},
	{bufferRow{}, "bundle_buffer", "name direction pad units"},
	{imageRow{}, "bundle_image", "form target dtype pad bytes name"},
}

// TestRowTypes holds that rowTypes has all rows.
func TestRowTypes(t *testing.T) {
	text, err := os.ReadFile("../runtime/src/bundle/rows.h")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range rowTypes {
		names = append(names, r.name)
	}
	var want []string
	for _, m := range regexp.MustCompile(`(?m)^struct (\w+)`).FindAllStringSubmatch(string(text), -1) {
		want = append(want, m[1])
	}
	if slices.Sort(names); !slices.Equal(names, sorted(want)) {
		t.Errorf("bundle/rows.h has %v, and this test %v", want, names)
	}
}

// TestRows compares the rows with those of runtime/src/bundle/rows.h, field by field.
func TestRows(t *testing.T) {
	gxx, err := exec.LookPath("g++")
	if err != nil {
		t.Skip("there is no g++")
	}
	rows := rowTypes
	var c, want strings.Builder
	c.WriteString("#include \"bundle/rows.h\"\n#include <stddef.h>\n#include <stdio.h>\nint main() {\n")
	for _, r := range rows {
		typ := reflect.TypeOf(r.row)
		fmt.Fprintf(&c, "printf(\"%s %%zu\\n\", sizeof(%s));\n", r.name, r.name)
		fmt.Fprintf(&want, "%s %d\n", r.name, typ.Size())
		if n := binary.Size(r.row); n != int(typ.Size()) {
			t.Errorf("%s is written in %d bytes, and has %d", r.name, n, typ.Size())
		}
		for _, m := range strings.Fields(r.members) {
			fmt.Fprintf(&c, "printf(\"%s.%s %%zu\\n\", offsetof(%s, %s));\n", r.name, m, r.name, m)
		}
		members := strings.Fields(r.members)
		for i := range typ.NumField() {
			if f := typ.Field(i); f.Type.Size() > 0 && len(members) > 0 {
				fmt.Fprintf(&want, "%s.%s %d\n", r.name, members[0], f.Offset)
				members = members[1:]
			}
		}
	}
	numbers := []struct {
		name  string
		value int
	}{
		{"BUNDLE_VERSION", Version}, {"BUNDLE_ALIGN", Align}, {"BUNDLE_NCCL", none}, {"BUNDLE_NONE", none},
		{"BUNDLE_ANY", Any}, {"BUNDLE_RANKS", limits.Ranks}, {"DT_COUNT", int(data.NumDTypes)},
		{"SECTION_ABOUT", sectionAbout}, {"SECTION_SET", sectionSet}, {"SECTION_PROGRAM", sectionProgram},
		{"SECTION_SOURCE", sectionSource}, {"SECTION_IMAGE", sectionImage}, {"SECTION_WHERE", sectionWhere},
		{"SECTION_NET", sectionNet},
		{"RULE_EAGER", WhenEager}, {"RULE_CAPTURED", WhenCaptured}, {"RULE_WINDOWS", WhenWindows},
		{"RULE_CANDIDATE", WhenCandidate},
		{"IMAGE_PTX", FormPTX}, {"IMAGE_CUBIN", FormCubin},
	}
	for _, n := range numbers {
		fmt.Fprintf(&c, "printf(\"%s %%lld\\n\", (long long)%s);\n", n.name, n.name)
		fmt.Fprintf(&want, "%s %d\n", n.name, n.value)
	}
	fmt.Fprintf(&c, "fputs(BUNDLE_MAGIC, stdout);\n}\n")
	want.WriteString(Magic)
	dir := t.TempDir()
	file, program := filepath.Join(dir, "rows.cc"), filepath.Join(dir, "rows")
	if err := os.WriteFile(file, []byte(c.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(gxx, "-std=c++17", "-I../runtime/src", file, "-o", program).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got, err := exec.Command(program).Output()
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want.String() {
		t.Errorf("C++ has\n%s\nGo has\n%s", got, want.String())
	}
}
