package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"unsafe"

	"mscclc/executor/abi"
	"mscclc/ir/diag"
)

// This file is how a plan fails: who fails first reports it to the others, by the exchange. A timeout names the step
// that waited.

// A failure is what a plan has failed with. Where another process is gone, or cannot be reached, lost says so alone: it
// is yet to be seen which steps waited for that.
type failure struct{ err, lost error }

// lost returns the failure that a process is gone, or cannot be reached.
func (p *Plan) lost(err error) *failure {
	return &failure{err: fmt.Errorf("%w%s", err, p.x.LastCall()), lost: err}
}

// A note is what a process sends the others about a failure: how a launch ended, or a
// text where there is no such thing.
type note struct {
	Text     string `json:",omitempty"`
	Status   []byte `json:",omitempty"`       // a Status
	Before   []byte `json:"Behind,omitempty"` // what its block had done before the launch
	Replicas uint32 `json:",omitempty"`
	Lost     bool   `json:",omitempty"` // that a process is gone, or cannot be reached
}

// Err says, without waiting, what has gone wrong in a launch of this plan, on any
// rank, as far as is known: a diag.List with code Timeout, or a fault of the GPU.
func (p *Plan) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.look()
}

// look is Err.
func (p *Plan) look() error {
	if f := p.failure.Load(); f != nil {
		return f.err
	}
	if p.closed {
		return errors.New("executor: a plan that is closed")
	}
	for _, s := range p.seats {
		status, err := s.status()
		if err == nil && s.port != nil {
			err = s.port.Err() // which launches wait for, if they do not know it yet
		}
		if err != nil {
			p.fail(failure{err: err}, note{Text: err.Error()})
		} else if status.Code != abi.StatusOK {
			p.ended(s, status)
		}
	}
	p.lookNet()
	if f := p.failure.Load(); f != nil {
		return f.err
	}
	return nil
}

func (s *seat) status() (status abi.Status, err error) {
	err = s.gpu.Peek(bytesAt(&status), s.at.status)
	return status, err
}

// ended takes the status of a launch that ended early.
func (p *Plan) ended(s *seat, status abi.Status) {
	n := note{Text: "a launch was ended by the host"}
	if status.Code == abi.StatusTimeout {
		before, err := p.kind.before(s, &status)
		if err != nil {
			p.fail(failure{err: err}, note{Text: err.Error()})
			return
		}
		n = note{Status: raw([]abi.Status{status}), Before: before, Replicas: uint32(p.replicas)}
	}
	p.fail(failure{err: p.explain(n)}, n)
}

// explain returns the error that a note describes.
func (p *Plan) explain(n note) error {
	var status abi.Status
	if len(n.Status) != int(unsafe.Sizeof(status)) {
		return errors.New(n.Text)
	}
	copy(bytesAt(&status), n.Status)
	return p.kind.explain(&status, n.Before, n.Replicas)
}

// fail notes a failure, the first of which counts, and reports it to the others.
func (p *Plan) fail(f failure, n note) {
	if !p.failure.CompareAndSwap(nil, &f) {
		return
	}
	if p.x != nil {
		text, _ := json.Marshal(&n) // of texts and numbers
		p.x.Post(p.topic, string(text))
	}
}

// receive takes a note of another process, or that it is gone.
func (p *Plan) receive(_ int, text string) {
	var n note
	if err := json.Unmarshal([]byte(text), &n); err != nil {
		p.failure.CompareAndSwap(nil, p.lost(errors.New(text)))
	} else if n.Lost {
		p.failure.CompareAndSwap(nil, p.lost(p.explain(n)))
	} else {
		p.failure.CompareAndSwap(nil, &failure{err: p.explain(n)})
	}
	p.hurry()
}

// because says which step of this process waited for a process that is gone. That is what this machine could not do:
// the program is right.
func (p *Plan) because(f *failure) error {
	for _, s := range p.seats {
		status, err := s.status()
		if err != nil || status.Code != abi.StatusTimeout {
			continue
		}
		before, err := p.kind.before(s, &status)
		if err == nil {
			err = p.kind.explain(&status, before, uint32(p.replicas))
		}
		if list, ok := err.(diag.List); ok {
			list[0].Code, list[0].Text = diag.Unavailable, f.lost.Error()+"; "+list[0].Text
			return list
		}
	}
	return f.err
}
