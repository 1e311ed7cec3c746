package choose

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"time"

	"mscclc/executor/exchange"
	"mscclc/selection"
)

// An Online finds out which variant is the fastest while calls run. Of each size class (sizes up to a power of two) it
// has the calls of the first time run by the few variants that a Chooser ranks highest, in turns, each Tries times;
// then the one whose least time is the least runs all calls, and nothing is timed any more.
//
// Ranks that are processes agree: after each try they exchange what it took, and the slowest counts, so that all count
// alike, whatever their clocks say, and keep the same one. A variant that fails in one process is dropped in all. So
// Run is collective until a class is settled, and no exchange is made after that. All processes make the same calls in
// the same order, one at a time.
type Online struct {
	Chooser  *Chooser
	Tries    int              // of each candidate; 0 is DefaultTries
	Most     int              // candidates; 0 is DefaultCandidates
	Exchange *exchange.Member // with the processes of other ranks, or nil

	// Seen, where not nil, is called with each class when it is settled.
	Seen func(Settlement)

	classes map[classKey]*class
}

// What an Online does if nothing else is said.
const (
	DefaultTries      = 3
	DefaultCandidates = 4
)

// A Settlement is what became of a class: the winner first, and what each candidate took at least, of all processes the
// slowest.
type Settlement struct {
	Call       Call
	UpTo       int64 // bytes of the class's largest call
	Candidates []Candidate
}

// A Candidate is a variant that was tried.
type Candidate struct {
	selection.Choice
	Least time.Duration // 0 where it failed
	Err   error         // why, in some process
}

// A Try runs one call by a variant and says how long it took, of the ranks of this process the slowest. An error that
// came when the call had begun is to be marked by Begun.
type Try func(ctx context.Context, v selection.Choice) (time.Duration, error)

type classKey struct {
	call    Call
	class   int
	element int
}

type class struct {
	candidates []Candidate
	next       int // the try that comes next, of all
	settled    bool
}

// classOf returns the number of the class of a size: the least power of two that is no less.
func classOf(bytes int64) int { return bits.Len64(uint64(max(bytes, 1) - 1)) }

// Winner returns what runs calls of a size, where that is settled.
func (o *Online) Winner(call Call, bytes int64, element int) (v selection.Choice, settled bool) {
	c := o.classes[classKey{call, classOf(bytes), element}]
	if c == nil || !c.settled {
		return v, false
	}
	return c.candidates[0].Choice, true
}

// Run runs a call of a given number of bytes by the variant whose turn it is, and says which that was. Where one fails,
// the next one runs the call; but not in place where it had begun, as what was the input may be there no more.
func (o *Online) Run(ctx context.Context, call Call, bytes int64, element int, try Try) (selection.Choice, error) {
	if v, settled := o.Winner(call, bytes, element); settled {
		_, err := try(ctx, v)
		return v, err
	}
	key := classKey{call, classOf(bytes), element}
	c := o.classes[key]
	if c == nil {
		var err error
		if c, err = o.begin(key); err != nil {
			return selection.Choice{}, err
		}
	}
	for {
		at := c.turn()
		if at == nil {
			return selection.Choice{}, c.failed()
		}
		took, err := try(ctx, at.Choice)
		took, err, lost := o.agree(ctx, took, err)
		if lost != nil || ctx.Err() != nil {
			return at.Choice, errors.Join(lost, err)
		}
		c.count(at, took, err)
		if c.next >= o.tries()*len(c.candidates) {
			o.settle(key, c)
		}
		var begun *begunError
		if err == nil || call.Inplace && errors.As(err, &begun) {
			return at.Choice, err
		}
	}
}

func (o *Online) tries() int { return cmp.Or(o.Tries, DefaultTries) }

// begin finds the candidates of a class: what the Chooser chooses, and what it ranks highest. What costs the same as
// one of these by its Shape, in the same packets or in such of 8 bytes instead of 16, is not tried beside it.
func (o *Online) begin(key classKey) (*class, error) {
	bytes := int64(1) << key.class
	first, _, err := o.Chooser.Choose(key.call, bytes, key.element)
	if err != nil {
		return nil, err
	}
	ranked, _, err := o.Chooser.Ranked(key.call, bytes, key.element)
	if err != nil {
		return nil, err
	}
	c := &class{candidates: []Candidate{{Choice: first}}}
	for _, v := range ranked {
		known := slices.ContainsFunc(c.candidates, func(at Candidate) bool { return o.alike(key.call, at.Choice, v) })
		if !known && len(c.candidates) < cmp.Or(o.Most, DefaultCandidates) {
			c.candidates = append(c.candidates, Candidate{Choice: v})
		}
	}
	if o.classes == nil {
		o.classes = map[classKey]*class{}
	}
	o.classes[key] = c
	return c, nil
}

// alike reports whether a and b cost the same by their shapes and packets.
func (o *Online) alike(call Call, a, b selection.Choice) bool {
	sa, err1 := o.Chooser.Shape(a.Program, call)
	sb, err2 := o.Chooser.Shape(b.Program, call)
	return err1 == nil && err2 == nil && a.Protocol.Row().Like == b.Protocol.Row().Like &&
		a.Via == b.Via && a.Lanes == b.Lanes &&
		sa.Rounds == sb.Rounds && sa.Volume == sb.Volume && sa.Peers == sb.Peers
}

// turn returns the candidate whose turn it is: they go round, so that what drifts drifts for all; nil where all have
// failed.
func (c *class) turn() *Candidate {
	for range c.candidates {
		if at := &c.candidates[c.next%len(c.candidates)]; at.Err == nil {
			return at
		}
		c.next++
	}
	return nil
}

// count counts a try.
func (c *class) count(at *Candidate, took time.Duration, err error) {
	c.next++
	if err != nil {
		at.Err, at.Least = err, 0
	} else if at.Least == 0 || took < at.Least {
		at.Least = max(took, 1)
	}
	for c.candidates[c.next%len(c.candidates)].Err != nil &&
		slices.ContainsFunc(c.candidates, func(o Candidate) bool { return o.Err == nil }) {
		c.next++ // tries of what has failed count as made
	}
}

// settle has the fastest run all calls from now on; of equals the first, which all processes have in the same order.
func (o *Online) settle(key classKey, c *class) {
	least := func(a Candidate) time.Duration {
		if a.Err != nil || a.Least == 0 {
			return math.MaxInt64
		}
		return a.Least
	}
	slices.SortStableFunc(c.candidates, func(a, b Candidate) int { return cmp.Compare(least(a), least(b)) })
	if c.candidates[0].Err != nil {
		return // there is none
	}
	c.settled = true
	if o.Seen != nil {
		o.Seen(Settlement{key.call, 1 << key.class, slices.Clone(c.candidates)})
	}
}

// failed is why no candidate is left.
func (c *class) failed() error {
	var errs []error
	for _, at := range c.candidates {
		errs = append(errs, fmt.Errorf("%v: %w", at.Choice, at.Err))
	}
	return errors.Join(errs...)
}

// A report is what a process says of a try.
type report struct {
	Took  time.Duration `json:"took"`
	Err   string        `json:"err,omitempty"`
	Begun bool          `json:"begun,omitempty"`
}

// agree makes of what a try was in each process what it was in all: the longest time, or the first error. lost is that
// they cannot agree.
func (o *Online) agree(ctx context.Context, took time.Duration, err error) (time.Duration, error, error) {
	if o.Exchange == nil {
		return took, err, nil
	}
	own := report{Took: took}
	if err != nil {
		var begun *begunError
		own.Err, own.Begun = err.Error(), errors.As(err, &begun)
	}
	blob, lost := json.Marshal(own)
	if lost != nil {
		return 0, nil, lost
	}
	blobs, lost := o.Exchange.AllGather(ctx, blob)
	if lost != nil {
		return 0, nil, errors.Join(err, lost)
	}
	var failed error
	begun := false
	for i, b := range blobs {
		var r report
		if lost := json.Unmarshal(b, &r); lost != nil {
			return 0, nil, fmt.Errorf("process %d: %w", i, lost)
		}
		took, begun = max(took, r.Took), begun || r.Begun
		if r.Err != "" && failed == nil {
			failed = fmt.Errorf("process %d: %s", i, r.Err)
		}
	}
	if failed == nil {
		return took, nil, nil
	}
	if err == nil || begun { // in another process at least
		failed = Begun(failed)
	}
	return took, failed, nil
}

// A begunError is of a call that had begun.
type begunError struct{ error }

func (e *begunError) Unwrap() error { return e.error }

// Begun marks an error of a call that had begun to write.
func Begun(err error) error { return &begunError{err} }
