package choosing

import (
	"context"
	"errors"

	"mscclc/algorithms/choose"
	"mscclc/executor/exchange"
	"mscclc/selection"
)

// A choice is what process 0 of a job says of a call to the others.
type choice struct {
	selection.Choice
	NotInPlace bool // there is none, by choose.ErrNotInPlace
}

// Together returns the variant for a call of a given number of bytes. In a job, process 0 chooses and sends the choice
// to the others, so that all choose alike, by whatever tables process 0 has, and processes that share processors
// simulate once. All processes of a job call it alike; x is nil where there is none.
func Together(ctx context.Context, x *exchange.Member, c *choose.Chooser, call choose.Call, bytes int64,
	element int) (selection.Choice, error) {
	if x == nil || x.Size() == 1 {
		v, _, err := c.Choose(call, bytes, element)
		return v, err
	}
	var own choice
	var why error
	if x.Index() == 0 {
		own.Choice, _, why = c.Choose(call, bytes, element)
		own.NotInPlace = errors.Is(why, choose.ErrNotInPlace)
	}
	failed := why
	if own.NotInPlace {
		failed = nil
	}
	all, err := exchange.Agree(ctx, x, own, failed)
	switch {
	case err != nil:
		return selection.Choice{}, err
	case why != nil:
		return selection.Choice{}, why
	case all[0].NotInPlace:
		return selection.Choice{}, choose.ErrNotInPlace
	case all[0].Program == "":
		return selection.Choice{}, errors.New("process 0 has chosen nothing")
	}
	return all[0].Choice, nil
}
