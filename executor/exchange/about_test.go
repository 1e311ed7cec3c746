package exchange

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestDescribed: each view reports a loss in its own words, whichever was made last: in what its methods return, and
// in what it hears. What has no words of its own has those of Describe.
func TestDescribed(t *testing.T) {
	called := func(plan string) func(int) string {
		return func(process int) string { return fmt.Sprintf(" (%s's %d)", plan, process) }
	}
	for i, err := range job(t, 2, func(ctx context.Context, x *Member) error {
		first, second := x.Described(called("first")), x.Described(called("second"))
		received := make(chan string, 2)
		for topic, view := range []*Member{first, second} {
			view.Listen(uint64(topic), func(_ int, text string) { received <- text })
		}
		if _, err := x.AllGather(ctx, nil); err != nil { // both listen
			return err
		}
		if x.Index() == 1 {
			x.links[0].conn.Close()
			return nil
		}
		<-x.Done()
		for text, other := <-received, <-received; ; text, other = other, text {
			if strings.Contains(text, "process 1 (first's 1) is gone") && strings.Contains(other, "process 1 (second's 1) is gone") {
				break
			} else if strings.Contains(text, "second") && !strings.Contains(other, "first") {
				return fmt.Errorf("the views hear %q and %q", text, other)
			}
		}
		_, err := Agree(ctx, first, 1, nil)
		for got, want := range map[error]string{err: "first", first.Lost(): "first", second.Lost(): "second"} {
			if got == nil || !strings.Contains(got.Error(), "process 1 ("+want+"'s 1) is gone") {
				return fmt.Errorf("the %s view has %w", want, got)
			}
		}
		if err := x.Lost(); !strings.Contains(err.Error(), "process 1 is gone") {
			return fmt.Errorf("without words: %w", err)
		}
		x.Describe(called("all"))
		if err := x.Lost(); !strings.Contains(err.Error(), "process 1 (all's 1) is gone") {
			return fmt.Errorf("by Describe: %w", err)
		}
		own := fmt.Errorf("a step waited: %w", first.Lost())
		if _, err := Agree(ctx, x, 1, own); !errors.Is(err, ErrEnd) || strings.Count(err.Error(), "is gone") != 1 {
			return fmt.Errorf("a loss is reported twice: %w", err)
		}
		return nil
	}) {
		if err != nil {
			t.Errorf("process %d: %v", i, err)
		}
	}
}
