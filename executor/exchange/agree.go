package exchange

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// ErrEnd is wrapped by errors after which a job cannot go on: a process is gone, or a GPU does not come to an end.
var ErrEnd = errors.New("the job cannot go on")

// A Failure is what another process has failed with.
type Failure struct {
	Process int
	Text    string
	Ends    bool // whether the error there wraps ErrEnd
}

// Error names the process.
func (f *Failure) Error() string { return fmt.Sprintf("process %d: %s", f.Process, f.Text) }

// Is reports whether target is ErrEnd, and the job cannot go on.
func (f *Failure) Is(target error) bool { return target == ErrEnd && f.Ends }

// A lostError is what ended the exchange.
type lostError struct{ error }

func (e lostError) Is(target error) bool { return target == ErrEnd }
func (e lostError) Unwrap() error        { return e.error }

// A word is what a process says in Agree: something, or what it has failed with.
type word[T any] struct {
	Failed string `json:",omitempty"`
	Ends   bool   `json:",omitempty"`
	Passed bool   `json:"Heard,omitempty"` // Failed is what another process has failed with
	Says   T
}

// failing is the word of a process that has failed, whatever the others say.
func failing(err error) []byte {
	var remote *Failure
	w := word[*int]{Failed: oneLine(err), Ends: errors.Is(err, ErrEnd), Passed: errors.As(err, &remote)}
	blob, _ := json.Marshal(&w) // of a text
	return blob
}

// oneLine returns the text of an error, which may be several that are joined.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// Agree returns what all processes say, indexed by number. If err is not nil in some process, all processes return an
// error: their own, or else the first *Failure. So a process that has failed calls Agree once with its error, whatever
// the others call Agree or Trade for. It then waits for the others, and ends when nothing comes from one of them for
// 5 s. A nil x stands for this process alone. T must be written as JSON and read again unchanged.
func Agree[T any](ctx context.Context, x *Member, says T, err error) ([]T, error) {
	return agree(ctx, x, []T{says}, err)
}

// Trade is Agree where a process says something to each: says is indexed by the receiver, and the result by who says
// it. With an error, says may be nil.
func Trade[T any](ctx context.Context, x *Member, says []T, err error) ([]T, error) {
	if err == nil && x != nil && len(says) != x.size {
		err = fmt.Errorf("%d words for %d processes", len(says), x.size)
	}
	return agree(ctx, x, says, err)
}

// agree is Agree of one word, and Trade of several.
func agree[T any](ctx context.Context, x *Member, says []T, err error) ([]T, error) {
	if x == nil {
		return says, err
	}
	blobs := make([][]byte, len(says))
	for i := range says {
		var failed error
		if blobs[i], failed = json.Marshal(&word[T]{Says: says[i]}); failed != nil {
			err = errors.Join(err, failed)
			break
		}
	}
	var all [][]byte
	var lost error
	switch {
	case err != nil:
		x.worry()
		all, lost = x.AllGather(ctx, failing(err))
	case len(blobs) == 1:
		all, lost = x.AllGather(ctx, blobs[0])
	default:
		all, lost = x.AllToAll(ctx, blobs)
	}
	if lost != nil {
		var loss *lossError
		if err != nil && errors.As(lost, &loss) && strings.Contains(err.Error(), loss.why) {
			return nil, lostError{err} // the caller has failed by the loss, and knows more of it
		}
		return nil, errors.Join(err, lostError{lost})
	}
	if err != nil {
		return nil, err
	}
	list, f, err := read[T](all)
	if f != nil {
		x.failed.Store(f)
		return nil, f
	}
	return list, err
}

// read returns what all processes have said, or the first failure: of one that has failed by itself, if there is any.
func read[T any](all [][]byte) (list []T, first *Failure, err error) {
	list = make([]T, len(all))
	passed := false // on, by the process of first
	for i := range all {
		var w word[T]
		if err := json.Unmarshal(all[i], &w); err != nil {
			return nil, nil, fmt.Errorf("process %d: %w", i, err)
		}
		if w.Failed != "" && (first == nil || passed && !w.Passed) {
			first, passed = &Failure{i, w.Failed, w.Ends}, w.Passed
		}
		list[i] = w.Says
	}
	return list, first, nil
}
