package fifo

import (
	"errors"
	"testing"

	"mscclc/ir/diag"
	"mscclc/ir/property"
	"mscclc/passes/passestest"
)

func isLimit(err error) bool {
	var l diag.List
	return errors.As(err, &l) && len(l) > 0 && l[0].Code == diag.Limit
}

// TestTable holds that every pass finds the properties it needs, at -O0 and
// with each optional pass off, and that a pass has the name of its file.
func TestTable(t *testing.T) {
	var rows []passestest.Row[property.Property]
	for _, p := range Table {
		rows = append(rows, passestest.Row[property.Property]{
			Name: p.Name, Doc: p.Doc, Required: p.Required, Needs: p.Needs, Gives: p.Gives,
		})
	}
	passestest.Table(t, property.Meaning, rows)
}
