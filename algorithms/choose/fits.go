package choose

import (
	"errors"
	"slices"

	"mscclc/ir/diag"
)

// Unfit says, at the rules of a table's entry, which of them no call like call can follow: their
// programs do not expand for it, or, of rules for one of some sizes, do not compile.
func (c *Chooser) Unfit(e *Entry, call Call, sizes []int64) diag.List {
	var found diag.List
	judged := map[Variant]bool{}
	for i, r := range e.Rules {
		v := r.Variant.Plain()
		used := slices.ContainsFunc(sizes, func(n int64) bool { return e.rule(n) == i })
		if judged[v] || !used && judged[Variant{Program: v.Program}] {
			continue
		}
		_, err := c.Shape(v.Program, call)
		judged[Variant{Program: v.Program}] = true
		if err == nil && used {
			judged[v] = true
			_, err = c.Program(v, call)
		}
		if err != nil {
			found = append(found, unfit(r, call, err))
		}
	}
	return found
}

// unfit is why a rule is not for a call.
func unfit(r Rule, call Call, why error) diag.Diagnostic {
	code, text := diag.Unsupported, why.Error()
	var list diag.List
	known := errors.As(why, &list) && len(list) > 0
	if known {
		code, text = list[0].Code, list[0].Text
	}
	where := "out of place"
	if call.Inplace {
		where = "in place"
	}
	d := diag.New(code, r.at, "%v is not to be had for %s %s: %s", r.Variant, call.ranksText(), where, text)
	if known && list[0].Span.Line > 0 {
		d = d.WithNote(list[0].Span, "that is said here")
	}
	return d
}
