package exchange

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
)

// TestAgree: all processes get what all say. Where one has failed, it has its own error, and all others get that,
// though they say something of another kind; and they go on to agree.
func TestAgree(t *testing.T) {
	broken := errors.New("broken")
	for i, err := range job(t, 3, func(ctx context.Context, x *Member) error {
		all, err := Agree(ctx, x, []int{x.Index()}, nil)
		if err != nil || fmt.Sprint(all) != "[[0] [1] [2]]" {
			return fmt.Errorf("got %v, %v", all, err)
		}
		if x.Index() == 1 {
			_, err = Agree(ctx, x, false, fmt.Errorf("it is %w (%w)", broken, ErrEnd))
			if !errors.Is(err, broken) {
				return fmt.Errorf("got %v", err)
			}
		} else {
			_, err = Agree(ctx, x, "fine", nil)
			var f *Failure
			if !errors.As(err, &f) || f.Error() != "process 1: it is broken (the job cannot go on)" || !errors.Is(err, ErrEnd) {
				return fmt.Errorf("got %v", err)
			}
		}
		names, err := Agree(ctx, x, fmt.Sprint(x.Index()), nil)
		if err != nil || !slices.Equal(names, []string{"0", "1", "2"}) {
			return fmt.Errorf("got %v, %v", names, err)
		}
		_, err = Agree(ctx, x, func() {}, nil) // no JSON
		if err == nil || errors.Is(err, ErrEnd) {
			return fmt.Errorf("got %v", err)
		}
		if x.Index() == 2 {
			return nil // and leaves
		}
		if _, err = Agree(ctx, x, 1, nil); !errors.Is(err, ErrEnd) {
			return fmt.Errorf("got %v", err)
		}
		return nil
	}) {
		if err != nil {
			t.Errorf("process %d: %v", i, err)
		}
	}
	if all, err := Agree(t.Context(), nil, 7, nil); err != nil || !slices.Equal(all, []int{7}) {
		t.Errorf("alone: %v, %v", all, err)
	}
	if _, err := Agree(t.Context(), nil, 7, broken); err != broken {
		t.Errorf("alone: %v", err)
	}
}
