package exchange

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

// TestTrade: each gets what others say to it. Where some have failed, all hear of the first, whoever it is and whether
// the failure is reported in Trade or in Agree.
func TestTrade(t *testing.T) {
	const size = 3
	to := func(from int) []string {
		list := make([]string, size)
		for i := range list {
			list[i] = fmt.Sprintf("%d to %d", from, i)
		}
		return list
	}
	for i, err := range job(t, size, func(ctx context.Context, x *Member) error {
		for failing := range 1 << size {
			var own error
			if failing>>x.Index()&1 != 0 {
				own = fmt.Errorf("of %d", x.Index())
			}
			for _, agrees := range []bool{false, true} {
				var got []string
				var err error
				if own != nil && agrees {
					_, err = Agree(ctx, x, 7, own)
				} else {
					got, err = Trade(ctx, x, to(x.Index()), own)
				}
				if err := tradedRight(x.Index(), failing, got, err, own); err != nil {
					return fmt.Errorf("%03b failing: %w", failing, err)
				}
			}
		}
		return nil
	}) {
		if err != nil {
			t.Errorf("process %d: %v", i, err)
		}
	}
	if got, err := Trade(t.Context(), nil, []int{7}, nil); err != nil || len(got) != 1 || got[0] != 7 {
		t.Errorf("alone: %v, %v", got, err)
	}
}

// tradedRight judges what process i has got, where some are failing, by bits.
func tradedRight(i, failing int, got []string, err, own error) error {
	var f *Failure
	switch {
	case own != nil:
		if !errors.Is(err, own) {
			return fmt.Errorf("got %v, %v", got, err)
		}
	case failing != 0:
		first := 0
		for failing>>first&1 == 0 {
			first++
		}
		if !errors.As(err, &f) || f.Process != first || f.Text != fmt.Sprintf("of %d", first) {
			return fmt.Errorf("got %v, %v", got, err)
		}
	case err != nil || fmt.Sprint(got) != fmt.Sprintf("[0 to %d 1 to %d 2 to %d]", i, i, i):
		return fmt.Errorf("got %v, %v", got, err)
	}
	return nil
}

// TestSayings: what is no saying is an error, also one for fewer processes than there are.
func TestSayings(t *testing.T) {
	for _, said := range [][]byte{nil, {2}, {forEach}, sayToEach([][]byte{{1}, {2}}), {forEach, 255, 255, 255, 255}} {
		if s, err := readSaying(said, 3); err == nil {
			t.Errorf("%v is read as %v", said, s)
		}
	}
	if s, err := readSaying(sayToAll(nil), 3); err != nil || len(s.to(2)) != 0 {
		t.Errorf("%v, %v", s, err)
	}
}

// TestTradeOfTooMuch: more than a frame has room for is an error of all.
func TestTradeOfTooMuch(t *testing.T) {
	group := Group(2)
	errs := make(chan error, 2)
	for _, x := range group {
		go func() {
			_, err := x.AllToAll(t.Context(), [][]byte{nil, make([]byte, x.Index()*maxFrame)})
			errs <- err
		}()
	}
	for range group {
		if err := <-errs; err == nil {
			t.Error("there is no error")
		}
	}
	if _, err := group[0].AllToAll(t.Context(), nil); err == nil {
		t.Error("no blob for two processes is no error")
	}
}
