package syntax

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"mscclc/ir/diag"
)

// Limits bound what one file may cost, so that no file compiles for ever. A
// zero field means its default; DefaultLimits has them.
type Limits struct {
	Steps   int64 // statements, iterations, calls, list elements and chunks moved
	Ops     int64 // operations of the expanded program
	Cells   int64 // ranks x chunks of all buffers
	File    int   // bytes of one file
	Files   int   // files imported
	List    int   // elements of a list
	Nesting int   // of brackets, operators of one expression, calls and imports
	String  int   // bytes of a string
	Parts   int   // product of nested parallelize degrees
}

// DefaultLimits are the limits that hold where none are given.
var DefaultLimits = Limits{
	Steps: 100_000_000, Ops: 8_000_000, Cells: 64_000_000, File: 1 << 20, Files: 256, List: 1_000_000, Nesting: 500,
	String: 4096, Parts: 1024,
}

// WithDefaults returns l with the default of each field that is zero, and no field above diag.MostLimit.
func (l Limits) WithDefaults() Limits {
	v, d := reflect.ValueOf(&l).Elem(), reflect.ValueOf(DefaultLimits)
	for i, name := range LimitNames() {
		if v.Field(i).Int() <= 0 {
			v.Field(i).Set(d.Field(i))
		}
		v.Field(i).SetInt(min(v.Field(i).Int(), diag.MostLimit(name)))
	}
	return l
}

// LimitNames lists the limits by the names that messages use and Set takes.
func LimitNames() []string {
	t := reflect.TypeFor[Limits]()
	names := make([]string, t.NumField())
	for i := range names {
		names[i] = strings.ToLower(t.Field(i).Name)
	}
	return names
}

// Set sets the limit that messages call name.
func (l *Limits) Set(name string, n int64) error {
	for i, known := range LimitNames() {
		if known == name {
			if most := diag.MostLimit(name); n < 1 || n > most {
				return fmt.Errorf("the limit %s is from 1 to %s, not %d", name, diag.LimitText(most), n)
			}
			reflect.ValueOf(l).Elem().Field(i).SetInt(n)
			return nil
		}
	}
	return fmt.Errorf("no limit is called %q; there are %s", name, strings.Join(LimitNames(), ", "))
}

// MoreHint returns the hint of a message about the limit name, if nobody knows how much is enough. The file needed at
// least reached.
func MoreHint(name string, reached int64) string {
	usual := reflect.ValueOf(DefaultLimits).Field(slices.Index(LimitNames(), name)).Int()
	return diag.MoreHint(name, reached, usual)
}
