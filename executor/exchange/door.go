package exchange

import (
	"fmt"
	"strings"
)

// A verdict is what the hub thinks of who has connected to it.
type verdict byte

const (
	comesIn verdict = iota
	isStranger
	ofOtherJob
	hasNoSecret
	needsNoSecret
	hasOtherSecret
	countsOthers // another number of processes
	hasNoSeat    // another process has its number, or none has
	jobEnds      // the job comes to nothing, whoever this is
	verdicts
)

// A door is what the hub knows of who may come in: a function of what guests say, and nothing else.
type door struct {
	size   uint32
	job    identity
	secret []byte
	seated []bool        // by process
	turned [verdicts]int // away, by why
	last   string        // the address of the last
}

func newDoor(p *Place, size int) *door {
	d := &door{size: uint32(size), job: p.identity(), secret: p.Secret, seated: make([]bool, size)}
	d.seated[0] = true
	return d
}

// hears judges a hello. It changes nothing.
func (d *door) hears(h *hello) verdict {
	switch {
	case h.job != d.job:
		return ofOtherJob
	case h.secret && d.secret == nil:
		return needsNoSecret
	case !h.secret && d.secret != nil:
		return hasNoSecret
	}
	return comesIn
}

// proved judges what a guest has answered. It changes nothing.
func (d *door) proved(h *hello, q *question, said []byte) verdict {
	if !proves(said, d.secret, ofGuest, h, q) {
		return hasOtherSecret
	}
	return comesIn
}

// seat gives a guest its seat, of whom v was thought so far, and else counts it, and says why. With a secret, who knows
// it and has no seat is of this job, which cannot come together any more. Without one it may be anybody.
func (d *door) seat(h *hello, from string, v verdict) (verdict, string) {
	if v == comesIn {
		switch {
		case h.size != d.size:
			v = countsOthers
		case h.index >= d.size || d.seated[h.index]:
			v = hasNoSeat
		default:
			d.seated[h.index] = true
			return comesIn, ""
		}
		if d.secret != nil {
			return jobEnds, d.why(h, v)
		}
	}
	d.turned[v]++
	d.last = from
	return v, d.why(h, v)
}

// why says to a guest why it may not come in.
func (d *door) why(h *hello, v verdict) string {
	switch v {
	case ofOtherJob:
		return "it is of another job"
	case needsNoSecret:
		return "it has no secret, and this process has one: MSCCLC_SECRET must be the same in all processes"
	case hasNoSecret:
		return "it has a secret, and this process has none: MSCCLC_SECRET must be the same in all processes"
	case hasOtherSecret:
		return "it has another secret: MSCCLC_SECRET must be the same in all processes"
	case countsOthers:
		return fmt.Sprintf("process %d counts %d processes, and process 0 counts %d", h.index, h.size, d.size)
	case hasNoSeat:
		if h.index >= d.size {
			return fmt.Sprintf("there is no process %d of %d", h.index, d.size)
		}
		return fmt.Sprintf("there are two processes %d", h.index)
	}
	return errStranger.Error()
}

var turnedText = [verdicts]string{
	isStranger:     "no mscclc of this version",
	ofOtherJob:     "of another job",
	hasNoSecret:    "without a secret",
	needsNoSecret:  "with a secret, where this job has none",
	hasOtherSecret: "with another secret",
	countsOthers:   "with another number of processes",
	hasNoSeat:      "with the number of a process that is here, or of none",
}

// away says whom the hub has turned away, or nothing.
func (d *door) away() string {
	var list []string
	sum := 0
	for v, n := range d.turned {
		if n > 0 {
			list = append(list, fmt.Sprintf("%d %s", n, turnedText[v]))
			sum += n
		}
	}
	switch sum {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("; one was turned away: %s (from %s)", list[0], d.last)
	}
	return fmt.Sprintf("; %d were turned away: %s (the last from %s)", sum, strings.Join(list, ", "), d.last)
}

// missing says who has not come.
func (d *door) missing() string {
	var list []string
	for i, here := range d.seated {
		if !here {
			list = append(list, fmt.Sprint(i))
		}
	}
	const few = 8
	switch {
	case len(list) == 1:
		return "process " + list[0] + " has not come"
	case len(list) > few:
		list = append(list[:few], fmt.Sprintf("%d more", len(list)-few))
	}
	return "processes " + strings.Join(list, ", ") + " have not come"
}
