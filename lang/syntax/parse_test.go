package syntax_test

import (
	"os"
	"testing"

	"mscclc/lang/langtest"
	"mscclc/lang/syntax"
)

// programs returns every .mscl file of the repository.
func TestParsePrograms(t *testing.T) {
	for _, name := range langtest.Programs(t, "../..") {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := syntax.Parse(name, src); err != nil {
			t.Error(err)
		}
	}
}
