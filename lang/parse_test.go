package lang

import (
	"os"
	"path/filepath"
	"testing"
)

// programs returns every .mscl file of the repository.
func programs(t testing.TB) []string {
	var all []string
	for _, dir := range []string{"../algorithms/*", "../examples", "testdata/programs"} {
		files, err := filepath.Glob(dir + "/*.mscl")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, files...)
	}
	if len(all) < 20 {
		t.Fatalf("only %d programs found", len(all))
	}
	return all
}

func TestParsePrograms(t *testing.T) {
	for _, name := range programs(t) {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Parse(name, src); err != nil {
			t.Error(err)
		}
	}
}
