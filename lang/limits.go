package lang

import (
	"fmt"
	"reflect"
	"strings"
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

// MaxNesting is as far as the limit nesting can be raised: the parser and the
// evaluation use the stack.
const MaxNesting = 10_000

func (l Limits) withDefaults() Limits {
	v, d := reflect.ValueOf(&l).Elem(), reflect.ValueOf(DefaultLimits)
	for i := range v.NumField() {
		if v.Field(i).Int() <= 0 {
			v.Field(i).Set(d.Field(i))
		}
	}
	l.Nesting = min(l.Nesting, MaxNesting)
	l.Ops = min(l.Ops, 1<<30) // operations are counted in 32 bits
	l.Cells = min(l.Cells, 1<<30)
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
			if n < 1 {
				return fmt.Errorf("limit %s must be at least 1, not %d", name, n)
			}
			reflect.ValueOf(l).Elem().Field(i).SetInt(n)
			return nil
		}
	}
	return fmt.Errorf("no limit is called %q; there are %s", name, strings.Join(LimitNames(), ", "))
}

// raise is the hint of every message about a limit.
func raise(name string) string {
	return fmt.Sprintf("--limit %s=N raises this limit", name)
}
