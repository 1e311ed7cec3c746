package choosing

import (
	"context"
	"errors"

	"mscclc/algorithms/choose"
	"mscclc/executor/exchange"
)

// A choice is what process 0 of a job says of a call to the others.
type choice struct {
	Variant        choose.Variant
	Staged, Direct bool // of the variant, which tables do not have
	NotInPlace     bool // there is none, by choose.ErrNotInPlace
}

func choiceOf(v choose.Variant) choice { return choice{Variant: v, Staged: v.Staged, Direct: v.Direct} }

func (c choice) variant() choose.Variant {
	v := c.Variant
	v.Staged, v.Direct = c.Staged, c.Direct
	return v
}

// Together returns the variant for a call of so many bytes. In a job, process 0 chooses and tells the others, so that
// all choose alike, by whatever tables process 0 has, and processes that share processors simulate once. All processes
// of a job call it alike; x is nil where there is none.
func Together(ctx context.Context, x *exchange.Member, c *choose.Chooser, call choose.Call, bytes int64,
	element int) (choose.Variant, error) {
	if x == nil || x.Size() == 1 {
		v, _, err := c.Choose(call, bytes, element)
		return v, err
	}
	var own choice
	var why error
	if x.Index() == 0 {
		var v choose.Variant
		v, _, why = c.Choose(call, bytes, element)
		own = choiceOf(v)
		own.NotInPlace = errors.Is(why, choose.ErrNotInPlace)
	}
	failed := why
	if own.NotInPlace {
		failed = nil
	}
	all, err := exchange.Agree(ctx, x, own, failed)
	switch {
	case err != nil:
		return choose.Variant{}, err
	case why != nil:
		return choose.Variant{}, why
	case all[0].NotInPlace:
		return choose.Variant{}, choose.ErrNotInPlace
	case all[0].Variant.Program == "":
		return choose.Variant{}, errors.New("process 0 has chosen nothing")
	}
	return all[0].variant(), nil
}
