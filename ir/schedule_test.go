package ir_test

import (
	"testing"

	"mscclc/ir"
	"mscclc/ir/irtest"

	"pgregory.net/rapid"
)

// anySchedule returns a few blocks, each with at most one connection each way, and
// steps with transfers, counts and waits at random.
func anySchedule(t *rapid.T) *ir.Schedule {
	blocks := int(irtest.Small(t, 1, 5))
	s := &ir.Schedule{Start: []int32{0}, Waits: ir.Edges{Start: []int32{0}}, Conns: blocks,
		Slots: int(irtest.Small(t, 1, 3))}
	receives := rapid.Permutation(seq(blocks)).Draw(t, "from") // whom a block receives from
	steps := make([]int32, blocks)
	total := int32(0)
	for b := range steps {
		steps[b] = irtest.Small(t, 0, 5)
		total += steps[b]
	}
	for b := range blocks {
		for range steps[b] {
			send, recv := int32(-1), int32(-1)
			if rapid.Bool().Draw(t, "sends") {
				send = int32(b)
			}
			if receives[b] != b && rapid.Bool().Draw(t, "receives") {
				recv = int32(receives[b])
			}
			s.Send, s.Recv, s.Messages = append(s.Send, send), append(s.Recv, recv), append(s.Messages, irtest.Small(t, 1, 4))
			if rapid.IntRange(0, 3).Draw(t, "waits") == 0 {
				s.Waits.To = append(s.Waits.To, irtest.Small(t, 0, int(total)-1))
			}
			s.Waits.Start = append(s.Waits.Start, int32(len(s.Waits.To)))
		}
		s.Start = append(s.Start, int32(len(s.Send)))
	}
	return s
}

func seq(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// naive runs s one message at a time, trying all blocks until none moves, and
// says which steps end.
func naive(s *ir.Schedule) []bool {
	done := make([]bool, len(s.Send))
	pos := append([]int32(nil), s.Start[:len(s.Start)-1]...)
	moved := make([]int32, len(s.Send))
	inFlight := make([]int, s.Conns)
	for again := true; again; {
		again = false
		for b := range pos {
			i := pos[b]
			if i == s.Start[b+1] {
				continue
			}
			ready := true
			for _, w := range s.Waits.Of(int(i)) {
				ready = ready && done[w]
			}
			in, out := s.Recv[i], s.Send[i]
			if !ready || in >= 0 && inFlight[in] == 0 || out >= 0 && inFlight[out] == s.Slots {
				continue
			}
			if in >= 0 {
				inFlight[in]--
			}
			if out >= 0 {
				inFlight[out]++
			}
			if moved[i]++; moved[i] == s.Messages[i] || in < 0 && out < 0 {
				done[i] = true
				pos[b]++
			}
			again = true
		}
	}
	return done
}

// The run that wakes blocks and moves many messages at once ends the same
// steps as the naive one, in an order that respects waits and messages.
func TestScheduleAgainstNaive(t *testing.T) {
	stucks, dangling := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s := anySchedule(t)
		want := naive(s)
		order, stuck := s.Run()
		got := make([]bool, len(want))
		for _, i := range order {
			for _, w := range s.Waits.Of(int(i)) {
				if !got[w] {
					t.Fatalf("step %d ends before %d, which it waits for", i, w)
				}
			}
			got[i] = true
		}
		all := true
		for i := range want {
			if want[i] != got[i] {
				t.Fatalf("step %d: naive %v, run %v", i, want[i], got[i])
			}
			all = all && want[i]
		}
		if all != (len(stuck) == 0) {
			t.Fatalf("all steps end: %v; stuck: %v", all, stuck)
		}
		if !all {
			stucks++
			if stuck[len(stuck)-1].At < 0 {
				dangling++
			}
			checkCounterexample(t, s, stuck, got)
		}
	})
	if stucks < 10 || dangling < 5 || stucks == dangling {
		t.Errorf("%d runs got stuck, %d for want of a partner", stucks, dangling)
	}
}

// checkCounterexample: each entry waits for a block that stands at the next entry.
func checkCounterexample(t *rapid.T, s *ir.Schedule, stuck []ir.Wait, done []bool) {
	for k, w := range stuck {
		if done[w.Step] {
			t.Fatalf("step %d has ended, and waits", w.Step)
		}
		next := stuck[(k+1)%len(stuck)].Step
		if w.At < 0 {
			if len(stuck) != 1 {
				t.Fatalf("%v: a wait of nothing in a cycle", stuck)
			}
			continue
		}
		if w.At != next || done[w.At] {
			t.Fatalf("%v is no cycle", stuck)
		}
		if w.Cause == ir.ForStep && (w.On < w.At || done[w.On]) || w.Cause == ir.ForMessage && w.On >= 0 &&
			s.Send[w.On] != s.Recv[w.Step] ||
			w.Cause == ir.ForSlot && w.On >= 0 && s.Recv[w.On] != s.Send[w.Step] {
			t.Fatalf("%v: step %d does not wait for %d", stuck, w.Step, w.On)
		}
	}
}
