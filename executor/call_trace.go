package executor

import (
	"errors"
	"unsafe"
)

// A seatTrace is what a seat's launch of a traced call records.
type seatTrace struct {
	params  OneParams
	rows    []OneRecord
	address uint64
}

// record makes room for what a launch of s records, and tells the launch. That makes
// memory, unlike other calls.
func (c *Call) record(s *seat, params *OneParams) error {
	if c.trace == nil {
		return nil
	}
	n, err := c.trace.Room(params, s.one)
	if err != nil {
		return err
	}
	t := &seatTrace{rows: make([]OneRecord, max(n, 1))}
	if t.address, err = s.gpu.Alloc(int64(len(t.rows)) * int64(unsafe.Sizeof(OneRecord{}))); err != nil {
		return err
	}
	params.Trace = t.address
	t.params = *params
	c.records[s] = t
	return nil
}

// TakeTrace fills in the trace of the call's arguments with what its last launch has
// recorded, which must be over. Times are of each GPU's own clock, from its first step.
func (c *Call) TakeTrace() error {
	if c.trace == nil {
		return errors.New("executor: the call has no trace")
	}
	c.trace.Spans = nil
	for _, s := range c.plan.seats {
		t := c.records[s]
		if t == nil {
			continue
		}
		if err := s.stream.Get(raw(t.rows), t.address); err != nil {
			return err
		}
		c.trace.Take(c.plan.loaded.img.One, s.one, &t.params, t.rows)
	}
	return nil
}

// forget frees what the call recorded.
func (c *Call) forget() error {
	var errs []error
	for s, t := range c.records {
		errs = append(errs, s.gpu.Free(t.address))
	}
	c.records = nil
	return errors.Join(errs...)
}
