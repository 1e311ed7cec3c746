package devices

import (
	"io"
	"math"
	"reflect"
	"slices"
	"strings"

	"mscclc/internal/strictjson"
	"mscclc/ir"
	"mscclc/ir/diag"
)

// What a file of costs may have: bytes, and bytes of a text in it.
const (
	maxCosts = 1 << 20
	maxText  = 1 << 12
)

// ReadCosts reads costs as the files of this folder have them, from a file that messages call name. An absent key is 0,
// where 0 means something. The error is a diag.List.
func ReadCosts(name string, r io.Reader) (*Costs, error) {
	opt := strictjson.Options{What: "file of costs", MaxBytes: maxCosts, MaxMemory: math.MaxInt64}
	s, c := &costsReader{strictjson.NewReader(name, r, opt)}, &Costs{}
	s.costs(c)
	if err := s.Finish(); err != nil {
		return nil, err
	}
	return c, nil
}

// A costsReader reads costs.
type costsReader struct{ *strictjson.Reader }

func (s *costsReader) costs(c *Costs) {
	fields := s.numbers(c, "memory_bytes_us")
	s.Fields(append(fields,
		strictjson.Field{Key: "device", Read: func() { c.Device = s.Text(maxText) }},
		strictjson.Field{Key: "source", Read: func() { c.Source = s.Text(maxText) }},
		strictjson.Field{Key: "unmeasured", Read: func() { c.Unmeasured = s.Bool() }},
		strictjson.Field{Key: "network", Read: func() { s.Fields(s.numbers(&c.Network)...) }},
		strictjson.Field{Key: "one_sided", Must: true, Read: func() {
			s.sided(&c.OneSided, &c.OneSided.Protocol, strictjson.Field{Key: "threads", Must: true,
				Read: func() { c.OneSided.Threads = int(s.Uint(1, math.MaxInt32)) }},
				strictjson.Field{Key: "shared_ctas", Read: func() { c.OneSided.Shares = s.Bool() }},
				strictjson.Field{Key: "apart", Read: func() { s.Fields(s.numbers(&c.OneSided.Apart)...) }},
				strictjson.Field{Key: "links", Read: func() { s.links(&c.OneSided) }})
		}},
		strictjson.Field{Key: "two_sided", Must: true, Read: func() { s.sided(&c.TwoSided, &c.TwoSided.Protocol) }})...)
}

// links reads what CTAs move over links of some classes.
func (s *costsReader) links(c *OneSidedCosts) {
	s.List(func(int) {
		var l LinkCosts
		s.Fields(strictjson.Field{Key: "class", Must: true, Read: func() { l.Class = s.Text(maxText) }},
			strictjson.Field{Key: "rate", Must: true, Read: func() {
				at, before := s.Here(), s.Errors()
				if l.Rate = s.Float(0); (l.Rate == 0 || l.Rate > 1) && s.Errors() == before {
					s.Say(diag.Malformed, at, "is %g, and must be above 0, and 1 at most", l.Rate)
				}
			}})
		c.Links = append(c.Links, l)
	})
}

// sided reads the costs of one-sided or of two-sided programs, which are numbers, others, and those of each protocol.
func (s *costsReader) sided(to any, protocols *ProtocolCosts, others ...strictjson.Field) {
	fields := append(s.numbers(to), others...)
	s.Fields(append(fields, strictjson.Field{Key: "protocols", Must: true, Read: func() {
		var each []strictjson.Field
		var given [ir.NumProtocols]bool
		for p := range ir.NumProtocols {
			each = append(each, strictjson.Field{Key: p.String(), Must: p.Row().Like == p,
				Read: func() { given[p] = true; s.move(&protocols[p]) }})
		}
		s.Fields(each...)
		for p := range ir.NumProtocols {
			if !given[p] {
				protocols[p] = protocols[p.Row().Like]
			}
		}
	}})...)
}

func (s *costsReader) move(c *MoveCosts) {
	at, before := s.Here(), s.Errors()
	if s.Fields(s.numbers(c, "block_bytes_us", "wire")...); s.Errors() == before && c.Wire < 1 {
		s.Say(diag.Malformed, at, "\"wire\" is %g, and a link carries at least each byte of data", c.Wire)
	}
}

// numbers returns the fields of the struct that to points to which are numbers, by their keys: from 0 on, and rates,
// which must be there, above 0.
func (s *costsReader) numbers(to any, rates ...string) (list []strictjson.Field) {
	v := reflect.ValueOf(to).Elem()
	for i := range v.NumField() {
		n, ok := v.Field(i).Addr().Interface().(*float64)
		if !ok {
			continue
		}
		key, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		rate := slices.Contains(rates, key)
		list = append(list, strictjson.Field{Key: key, Must: rate, Read: func() {
			at, before := s.Here(), s.Errors()
			if *n = s.Float(0); rate && *n == 0 && s.Errors() == before {
				s.Say(diag.Malformed, at, "is 0, and must be more")
			}
		}})
	}
	return list
}
