package choosing

import (
	"errors"
	"slices"

	"mscclc/algorithms/choose"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/ir/diag"
)

// PlaceOf checks that a user's programs are for calls like call. Where the placement is not asked for, and all of them
// are for calls in place alone, call becomes one in place, with a note.
func PlaceOf(a *cli.App, userPrograms choose.UserPrograms, call *choose.Call, asked bool) error {
	other := *call
	other.Inplace = !call.Inplace
	turned, wrong := 0, (error)(nil)
	for i := range userPrograms {
		err := userPrograms[i].Unfit(*call)
		if err == nil {
			continue
		}
		fits := userPrograms[i].Unfit(other) == nil
		if fits {
			turned++
		}
		if wrong == nil {
			wrong = Unfit(&userPrograms[i], err, RanksOfTopology)
			if fits {
				wrong = placeHint(wrong, other.Inplace)
			}
		}
	}
	if wrong != nil && !asked && other.Inplace && turned == len(userPrograms) {
		*call = other
		a.Note("", "the files are for calls in place, and so is all that is compared with them (--inplace)")
		return nil
	}
	return wrong
}

// placeHint adds to err, that a program is not for calls of a placement, which flag asks for the other one.
func placeHint(err error, inplace bool) error {
	var found diag.List
	if !errors.As(err, &found) {
		return err
	}
	found = slices.Clone(found)
	hint := "it is for calls in place: give --inplace"
	if !inplace {
		hint = "it is for calls out of place: leave out --inplace"
	}
	found[0] = found[0].WithHint("%s", hint)
	return found
}
