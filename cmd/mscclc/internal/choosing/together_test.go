package choosing

import (
	"encoding/json"
	"errors"
	"reflect"
	"sync"
	"testing"

	"mscclc/algorithms/choose"
	"mscclc/executor/exchange"
	"mscclc/ir"
	"mscclc/selection"
)

// TestTogether has process 0 of three choose; the others have nothing to choose by.
func TestTogether(t *testing.T) {
	for _, c := range []struct {
		name string
		call choose.Call
		err  error
	}{
		{"a variant", choose.Call{Kind: ir.AllReduce, Ranks: 4}, nil},
		{"nothing in place", choose.Call{Kind: ir.AllToAll, Ranks: 4, Inplace: true}, choose.ErrNotInPlace},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got [3]selection.Choice
			var errs [3]error
			var all sync.WaitGroup
			for i, x := range exchange.Group(3) {
				all.Go(func() {
					var own *choose.Chooser
					if i == 0 {
						own = &choose.Chooser{Device: "cpu"}
					}
					got[i], errs[i] = Together(t.Context(), x, own, c.call, 1<<20, 4)
				})
			}
			all.Wait()
			for i := range got {
				if got[i] != got[0] || !errors.Is(errs[i], c.err) || (errs[i] == nil) != (got[i].Program != "") {
					t.Errorf("process %d: %v, %v, and process 0: %v", i, got[i], errs[i], got[0])
				}
			}
		})
	}
}

// TestChoiceIsWhole sends a variant of which each field is set.
func TestChoiceIsWhole(t *testing.T) {
	var v selection.Choice
	fill(reflect.ValueOf(&v).Elem())
	text, err := json.Marshal(choice{Choice: v})
	if err != nil {
		t.Fatal(err)
	}
	var c choice
	if err := json.Unmarshal(text, &c); err != nil || c.Choice != v {
		t.Errorf("%+v is sent as %s: %v", v, text, err)
	}
}

// fill sets all fields of a struct to something.
func fill(v reflect.Value) {
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.Struct:
			fill(f)
		case reflect.String:
			f.SetString("s")
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Uint8:
			f.SetUint(1)
		default:
			f.SetInt(int64(i + 1))
		}
	}
}
