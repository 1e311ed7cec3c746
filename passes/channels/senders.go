package channels

import (
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/onesided"
	"mscclc/ir/verify"
)

// A sentTwice is two steps that send packets to one place, which is said of the later.
type sentTwice struct {
	d              diag.Diagnostic
	earlier, later *unrolledStep
}

// shown returns a program in which packets that two steps send race as plain data, with counterexamples of these races;
// nil where there are none. Packets of one launch carry one flag, so that a reader cannot distinguish one sender's from
// the other's: they are to it as data that lies there, for which it does not wait.
func (u *unroller) shown(opt verify.Options) (*onesided.Program, verify.Report) {
	if len(u.twice) == 0 {
		return nil, verify.Report{}
	}
	number := map[*unrolledStep]int32{}
	u.eachStep(func(k *unrolled, s *unrolledStep) {
		number[s] = int32(len(number))
		for _, list := range [][]onesided.Operand{s.srcs, s.dsts} {
			for i := range list {
				if x := &list[i]; x.Buf == ir.Packets {
					x.Buf, x.Index = ir.Scratch, x.Index+u.p.Ranks[x.Rank].Scratch*u.parts
				}
			}
		}
	})
	u.build()
	all, _ := verify.Check(either.OfOneSided(u.program), opt)
	report := all
	report.Counterexamples = nil
	for _, two := range u.twice {
		earlier, later := number[two.earlier], number[two.later]
		for _, w := range all.Counterexamples {
			if of := [2]int32{w.With, w.Step}; w.Problem.Code == diag.Race &&
				(of == [2]int32{earlier, later} || of == [2]int32{later, earlier}) {
				w.Problem = two.d
				report.Counterexamples = append(report.Counterexamples, w)
				break
			}
		}
	}
	if len(report.Counterexamples) == 0 {
		return nil, verify.Report{}
	}
	return u.program, report
}
