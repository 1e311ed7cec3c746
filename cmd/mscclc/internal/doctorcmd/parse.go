package doctorcmd

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/internal/strictjson"
	"mscclc/ir/diag"
)

// schema is that of the files that this command reads.
const schema = 1

// maxText is the most bytes of a text in a file.
const maxText = 4096

// A parser reads what a process wrote.
type parser struct {
	*strictjson.Reader
	schema uint64
}

// parse reads a record. The error says in one line what is wrong, and where.
func parse(name string, text []byte) (*record, error) {
	opt := strictjson.Options{What: "file of last calls", MaxBytes: maxFile, MaxMemory: math.MaxInt64}
	p := &parser{Reader: strictjson.NewReader(name, bytes.NewReader(text), opt)}
	r := &record{file: name}
	p.Fields(
		must("schema", func() { p.schema = p.Uint(0, math.MaxInt32) }),
		must("host", func() { r.Host = p.Text(maxText) }),
		must("pid", func() { r.Pid = p.number() }),
		must("time", func() { r.Time = p.time() }),
		may("written", func() { r.Written = p.Text(maxText) }),
		must("communicators", func() {
			p.List(func(int) { r.Communicators = append(r.Communicators, p.communicator()) })
		}))
	err := p.Finish()
	if p.schema > schema {
		return nil, fmt.Errorf("it has schema %d, and mscclc %s reads schema %d: read it with the release whose library the job used, or with a newer one",
			p.schema, cli.Version(), schema)
	}
	if err != nil {
		return nil, oneLine(err)
	}
	if p.schema != schema {
		return nil, fmt.Errorf("it has schema %d, and there is no such schema", p.schema)
	}
	return r, nil
}

// oneLine returns the first error of a text with its line and column, and without the name of the file.
func oneLine(err error) error {
	var list diag.List
	if !errors.As(err, &list) || len(list) == 0 {
		return err
	}
	d, where := list[0], ""
	if d.Span.Pos.Line > 0 {
		where = fmt.Sprintf("line %d, column %d: ", d.Span.Pos.Line, d.Span.Pos.Column)
	}
	return errors.New(where + d.Text)
}

func must(key string, read func()) strictjson.Field {
	return strictjson.Field{Key: key, Must: true, Read: read}
}
func may(key string, read func()) strictjson.Field { return strictjson.Field{Key: key, Read: read} }

func (p *parser) number() int { return int(p.Uint(0, math.MaxInt)) }

// time reads a time as RFC 3339 has it.
func (p *parser) time() time.Time {
	at := p.Here()
	text := p.Text(maxText)
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil && p.Errors() == 0 {
		p.Say(diag.Malformed, at, "%q is no time such as 2026-05-01T12:00:40.000Z", text)
	}
	return t
}

func (p *parser) communicator() (c communicator) {
	at := p.Here()
	p.Fields(
		must("name", func() { c.Name = p.Text(maxText) }),
		must("id", func() { c.ID = p.Text(maxText) }),
		must("rank", func() { c.Rank = p.number() }),
		must("ranks", func() { c.Ranks = p.number() }),
		may("device", p.Skip),
		must("state", func() { c.State = p.Text(maxText) }),
		may("reason", p.Skip),
		may("failure", func() { c.Failure = p.Text(maxText) }),
		must("calls", func() { c.Calls = p.number() }),
		must("last", func() { p.List(func(int) { c.Last = append(c.Last, p.call()) }) }))
	c.Last = slices.DeleteFunc(c.Last, func(k call) bool { return k.Call == 0 }) // Send and Recv
	slices.SortFunc(c.Last, func(a, b call) int { return cmp.Compare(a.Call, b.Call) })
	if p.Errors() > 0 {
		return c
	}
	if c.Ranks > maxRanks || c.Rank > c.Ranks {
		p.Say(diag.Malformed, at, "communicator %s has rank %d of %d", diag.Printable(c.Name), c.Rank, c.Ranks)
	} else if n := len(c.Last); n > 0 && c.Last[n-1].Call > c.Calls {
		p.Say(diag.Malformed, at, "communicator %s has call %d of %d", diag.Printable(c.Name), c.Last[n-1].Call, c.Calls)
	}
	return c
}

func (p *parser) call() (k call) {
	p.Fields(
		must("number", p.Skip),
		must("call", func() { k.Call = p.number() }),
		must("function", func() { k.Function = p.Text(maxText) }),
		must("count", func() { k.Count = p.Uint(0, math.MaxUint64) }),
		must("type", func() { k.Type = p.Text(maxText) }),
		may("op", func() { k.Op = p.Text(maxText) }),
		may("root", func() { root := p.number(); k.Root = &root }),
		may("peer", p.Skip),
		may("stream", p.Skip),
		must("native", func() { k.Native = p.Bool() }),
		may("reason", p.Skip),
		may("captured", p.Skip),
		must("time", func() { k.Time = p.time() }),
		must("state", func() { k.State = p.OneOf("ended", "open", "unknown") }))
	return k
}
