package lang

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"mscclc/ir/diag"
	"mscclc/lang/syntax"
)

// Params are the values of an algorithm's parameters, by name. A parameter that is not in the map has its default.
// An integer takes any Go integer that fits into an int64, a boolean takes a bool. Every parameter takes a string: the
// text that the command's -p NAME=VALUE takes, such as "64K" or "true". A value of another type is an error of Expand.
type Params map[string]any

// params evaluates the parameters of the algorithm. One that failed is of kind
// kBad, so that what depends on it is silent.
func (c *compiler) params(a *syntax.Algorithm, given Params) (list []*name, ok bool) {
	m := c.m
	ok = true
	c.scope = newScope(c.universe)
	var names []string
	for _, p := range a.Params {
		names = append(names, p.Name)
		n := c.param(p, given)
		if n == nil {
			ok = false
			n = &name{text: p.Name, span: diag.Span{Pos: diag.Pos(p.Pos), Len: len(p.Name)}, sort: aConstant, kind: kBad,
				slot: &value{kind: kBad}}
		}
		c.declare(n)
		list = append(list, n)
	}
	var unknown []string
	for text := range given {
		if !slices.Contains(names, text) {
			unknown = append(unknown, text)
		}
	}
	slices.Sort(unknown)
	for _, text := range unknown {
		ok = false
		d := diag.New(diag.Parameter, a.Span(), "%s has no parameter %s", a.Name, text)
		if !suggest(&d, text, names) && len(names) > 0 {
			d.Hint = "its parameters are " + strings.Join(names, ", ") + ", as in " + strings.Join(settings(list), " ")
		}
		m.errs = append(m.errs, d)
	}
	return list, ok
}

// settings are parameters that are integers with their values, as -p takes them.
func settings(params []*name) (list []string) {
	for _, p := range params {
		if p.kind == kInt {
			list = append(list, "-p "+p.text+"="+strconv.FormatInt(p.slot.n, 10))
		}
	}
	return list
}

// param evaluates one parameter, or returns nil after an error.
func (c *compiler) param(p *syntax.Param, given Params) *name {
	m := c.m
	span := diag.Span{Pos: diag.Pos(p.Pos), Len: len(p.Name)}
	n := &name{text: p.Name, span: span, sort: aConstant}
	if p.Default == nil {
		d := m.report(diag.Declaration, span, "parameter %s of the algorithm has no default", p.Name)
		d.Hint = "every parameter has one: write " + p.Name + " = 8"
		return nil
	}
	v := c.valueOf(p.Default).value()()
	if m.recover() || v.kind == kBad {
		return nil
	}
	if v.kind != kInt && v.kind != kBool && v.kind != kString {
		m.report(diag.Kind, p.Default.Span(), "a parameter must be an integer, a boolean or a string, not %s", v.kind)
		return nil
	}
	if set, ok := given[p.Name]; ok {
		if v, ok = m.given(p, set, v.kind); !ok {
			return nil
		}
	}
	n.kind, n.slot = v.kind, &v
	return n
}

// given makes a value of kind k of what the caller gives for p, or reports why it cannot.
func (m *machine) given(p *syntax.Param, set any, k kind) (v value, ok bool) {
	if text, is := set.(string); is {
		if v, ok = m.parseParam(text, k); !ok {
			m.report(diag.Parameter, p.Span(), "-p %s=%s: %s must be %s", p.Name, text, p.Name, k)
		}
		return v, ok
	}
	switch r := reflect.ValueOf(set); {
	case r.Kind() == reflect.String:
		return m.given(p, r.String(), k)
	case r.Kind() == reflect.Bool:
		v, ok = boolValue(r.Bool()), k == kBool
	case r.CanInt():
		v, ok = intValue(r.Int()), k == kInt
	case r.CanUint():
		v, ok = intValue(int64(r.Uint())), k == kInt && r.Uint() <= math.MaxInt64
	default:
		d := m.report(diag.Parameter, p.Span(), "parameter %s is given as the Go type %T", p.Name, set)
		d.Hint = "the Go type must be an integer type, bool or string"
		return v, false
	}
	if !ok {
		d := m.report(diag.Parameter, p.Span(), "parameter %s is given as %v: it must be %s", p.Name, set, k)
		if k == kInt && v.kind == kInt {
			d.Hint = fmt.Sprintf("the largest integer is %d", math.MaxInt64)
		}
	}
	return v, ok
}

// parseParam reads the value of a parameter from text, as the command line gives it.
func (m *machine) parseParam(text string, k kind) (value, bool) {
	switch k {
	case kBool:
		return boolValue(text == "true"), text == "true" || text == "false"
	case kString:
		return value{kind: kString, n: m.intern(text)}, len(text) <= m.lim.String
	}
	digits, negative := strings.CutPrefix(text, "-")
	n, ok := syntax.ParseInt(digits)
	if negative {
		n = -n
	}
	return intValue(n), ok
}
