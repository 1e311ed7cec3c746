package fifo

import (
	"errors"
	"os"
	"strings"
	"testing"

	"mscclc/ir/diag"
	"mscclc/ir/property"
)

func isLimit(err error) bool {
	var l diag.List
	return errors.As(err, &l) && len(l) > 0 && l[0].Code == diag.Limit
}

// TestTable holds that every pass finds the properties it needs, at -O0 and
// with each optional pass off, and that a pass has the name of its file.
func TestTable(t *testing.T) {
	have := property.Meaning
	for _, p := range Table {
		if missing := p.Needs &^ have; missing != 0 {
			t.Errorf("%s needs %v, which no required pass before it gives", p.Name, missing)
		}
		if p.Required {
			have |= p.Gives
		} else if p.Gives != 0 {
			t.Errorf("%s is optional but gives %v", p.Name, p.Gives)
		}
		if _, err := os.Stat(p.Name + ".go"); err != nil {
			t.Errorf("pass %s: %v", p.Name, err)
		}
		if p.Doc == "" || strings.HasSuffix(p.Doc, ".") {
			t.Errorf("pass %s: doc %q is no line without full stop", p.Name, p.Doc)
		}
	}
}
