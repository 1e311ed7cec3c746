package verify_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/fifo"
	"mscclc/ir/text"
	"mscclc/ir/verify"
	"mscclc/ir/verify/explore"
)

// A judgement is what verify and the explorer say of one program.
type judgement struct {
	codes    []string // of verify, sorted
	verdict  *explore.Verdict
	excluded string // why the explorer says nothing: of no form, or too large
}

// codeOf is the code that a kind of fault must bring.
var codeOf = [explore.NumKinds]diag.Code{
	explore.Deadlock:      diag.Deadlock,
	explore.Race:          diag.Race,
	explore.Uninitialized: diag.Uninitialized,
	explore.WrongResult:   diag.WrongResult,
	explore.Mismatch:      diag.Unmatched,
	explore.Leftover:      diag.Unmatched,
}

// formCodes are those of programs without a meaning, which are not explored.
var formCodes = []diag.Code{diag.Malformed, diag.OutOfBounds, diag.Overlap, diag.Limit, diag.Finished}

// compare judges p in both ways. The error says how the two disagree.
func compare(p *either.Program, opt explore.Options) (j judgement, err error) {
	report, list := verify.Check(p, verify.Options{Slots: opt.Slots, MessageChunks: opt.MessageChunks,
		MostChunks: opt.MessageChunks})
	set := map[string]bool{}
	for _, d := range list {
		set[string(d.Code)] = true
	}
	j.codes = slices.Sorted(maps.Keys(set))
	if slices.ContainsFunc(formCodes, func(c diag.Code) bool { return set[string(c)] }) {
		j.excluded = j.codes[0]
		return j, nil
	}
	j.verdict, err = explore.Reduced(p.Fifo, opt)
	if large := (*explore.TooLarge)(nil); errors.As(err, &large) {
		j.excluded = "too large"
		return j, nil
	}
	if err != nil { // Senseless, and verify did not see it
		return j, err
	}
	if err := disagree(set, j.verdict, p.Protocol == ir.Simple); err != nil {
		return j, err
	}
	return j, lies(report.Counterexamples, j.verdict)
}

// lies says which counterexample claims what the explorer did not see. Where accesses
// race, what is read and what comes out is another matter in each schedule.
func lies(counterexamples []verify.Counterexample, v *explore.Verdict) error {
	for _, w := range counterexamples {
		ok := true
		switch w.Problem.Code {
		case diag.Race:
			ok = v.Races(w.Step, w.Group, w.With, w.WithGroup)
		case diag.Deadlock:
			for _, wait := range w.Waits {
				ok = ok && !v.Ends(wait.Step)
			}
			ok = ok && len(w.Waits) > 0
		case diag.Uninitialized:
			ok = v.Found[explore.Race] != nil || v.ReadsNothing(w.Step)
		case diag.WrongResult:
			ok = v.Found[explore.Race] != nil || v.Wrong(w.Rank, w.Index)
		}
		if !ok {
			return fmt.Errorf("a counterexample is wrong: %v", w.Problem.Text)
		}
	}
	return nil
}

// disagree says how codes and a verdict contradict each other. Both must
// accept, or both reject; an unmatched transfer that shows must be named, or
// the deadlock beside it; a race too, but beside these; and a program that has
// none of the three must have just the codes of what shows.
func disagree(codes map[string]bool, v *explore.Verdict, simple bool) error {
	want := map[string]bool{}
	for _, k := range v.Kinds() {
		want[string(codeOf[k])] = true
	}
	has := func(k explore.Kind) bool { return v.Found[k] != nil }
	unmatched := codes[string(diag.Unmatched)]
	switch {
	case len(codes) == 0 && len(want) > 0:
		return errors.New("verify accepts what a schedule breaks")
	case len(codes) > 0 && len(want) == 0:
		return errors.New("verify rejects what no schedule breaks")
	case (has(explore.Mismatch) || has(explore.Leftover)) && !unmatched &&
		!(has(explore.Deadlock) && codes[string(diag.Deadlock)]):
		return errors.New("verify does not name the unmatched transfer")
	case unmatched && !has(explore.Mismatch) && !has(explore.Leftover) && !has(explore.Deadlock):
		return errors.New("verify names a transfer unmatched that is not")
	case len(want) == 1 && !unmatched && !codes[slices.Collect(maps.Keys(want))[0]]:
		return errors.New("verify does not name the only fault that shows")
	case simple && !v.Cut && v.BothOrders != has(explore.Race):
		return errors.New("the explorer's monitor and its schedules disagree")
	}
	if unmatched || has(explore.Deadlock) && len(codes) == 1 { // nothing else is judged then
		return nil
	}
	if codes[string(diag.Race)] != has(explore.Race) {
		return errors.New("one sees a race, the other none")
	}
	if !has(explore.Race) && !maps.Equal(codes, want) {
		return errors.New("without races and deadlock, the codes are not the faults that show")
	}
	return nil
}

// explain reports a disagreement, with the program as small as it gets.
func explain(p *either.Program, opt explore.Options, err error) string {
	kind := func(err error) string {
		text, _, _ := strings.Cut(err.Error(), ":")
		return text
	}
	small := explore.Shrink(p.Fifo, func(q *fifo.Program) bool {
		_, again := compare(either.OfFifo(q), opt)
		return again != nil && kind(again) == kind(err)
	})
	j, _ := compare(either.OfFifo(small), opt)
	var b bytes.Buffer
	fmt.Fprintf(&b, "%v\nwith %d slots and %d chunks a message\nverify: %v\n", err, opt.Slots, opt.MessageChunks, j.codes)
	if j.verdict != nil {
		fmt.Fprintf(&b, "explorer: %v\n", j.verdict)
	}
	if err := text.WriteProgram(&b, either.OfFifo(small)); err != nil {
		return err.Error()
	}
	return b.String()
}
