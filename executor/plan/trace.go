package plan

import (
	"errors"
	"unsafe"

	"mscclc/executor"
	"mscclc/executor/abi"
)

// A seatTrace is what a seat's launch of a traced call records.
type seatTrace struct {
	params  abi.OneParams     // of a one-sided program
	two     *executor.Records // of a two-sided one
	rows    []abi.OneRecord
	address uint64
}

// record makes room for what a launch of s records, and gives it to the launch. That makes
// memory, unlike other calls.
func (c *Call) record(s *seat, params *abi.OneParams) error {
	if c.trace == nil {
		return nil
	}
	n, err := executor.RecordRoom(c.trace, params, s.one)
	if err != nil {
		return err
	}
	t := &seatTrace{rows: make([]abi.OneRecord, max(n, 1))}
	if t.address, err = s.gpu.Alloc(int64(len(t.rows)) * int64(unsafe.Sizeof(abi.OneRecord{}))); err != nil {
		return err
	}
	params.Trace = t.address
	t.params = *params
	c.records[s] = t
	return nil
}

// recordTwo is record of a two-sided program's launch. The rows are followed by the number of each block's first row.
func (c *Call) recordTwo(s *seat, params *abi.Params) (*abi.TraceTables, error) {
	if c.trace == nil {
		return nil, nil
	}
	r, err := executor.NewRecords(c.trace, c.plan.checked.Image, params, s.two.numbers)
	if err != nil {
		return nil, err
	}
	at, bytes := lay(bytesOf(r.Rows), bytesOf(r.First))
	address, err := s.gpu.Alloc(int64(bytes))
	if err != nil {
		return nil, err
	}
	c.records[s] = &seatTrace{two: r, rows: r.Rows, address: address}
	return &abi.TraceTables{Rows: address + at[0], First: address + at[1]}, s.gpu.Poke(address+at[1], raw(r.First))
}

// TakeTrace fills in the trace of the call's arguments with what its last launch has recorded, which must be over.
// Times are of each GPU's own clock, from its first step. Those of messages between nodes are the host's. They are
// shifted, for each GPU: as early as may be, but none is sent before its Signal is over; where a GPU sends none, as
// late as may be, but all have come before they are no longer awaited.
func (c *Call) TakeTrace() error {
	if c.trace == nil {
		return errors.New("executor: the call has no trace")
	}
	c.trace.Spans, c.trace.Messages = nil, nil
	for _, s := range c.plan.seats {
		t := c.records[s]
		if t == nil {
			continue
		}
		if err := s.stream.Get(raw(t.rows), t.address); err != nil {
			return err
		}
		if t.two != nil {
			executor.TakeRecords(c.trace, c.plan.checked.Image, t.two)
		} else {
			executor.TakeRows(c.trace, c.plan.checked.Image.One, s.one, &t.params, t.rows)
		}
	}
	c.trace.Messages = c.messages()
	return c.listen(mostNotes)
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
