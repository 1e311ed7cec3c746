//go:build !cgo || !linux

package transport

import (
	"context"
	"time"
)

// errMissing is what all calls fail with here.
var errMissing = &Failure{EngineFailed, -1, "this build of mscclc has no network: it needs Linux, and a build with cgo"}

// A Proxy is of builds with cgo.
type Proxy struct{}

// Open fails.
func Open(string) (*Proxy, error) { return nil, errMissing }

// Close has nothing to close.
func (p *Proxy) Close() {}

// Properties fails.
func (p *Proxy) Properties() (Properties, error) { return Properties{}, errMissing }

// Help is of builds with cgo.
func (p *Proxy) Help() (call, with uint64) { return 0, 0 }

// Silence is of builds with cgo.
func (p *Proxy) Silence() time.Duration { return 0 }

// Job fails.
func (p *Proxy) Job(int, *Program, []Memory, []Lane) (*Job, error) { return nil, errMissing }

// A Job is of builds with cgo.
type Job struct{}

// Peers returns nothing.
func (j *Job) Peers() []int { return nil }

// Handle fails.
func (j *Job) Handle(int) ([]byte, error) { return nil, errMissing }

// Connect fails.
func (j *Job) Connect([][]byte, time.Duration) error { return errMissing }

// Reach fails.
func (j *Job) Reach(context.Context, [][]byte, time.Duration) error { return errMissing }

// Stop does nothing.
func (j *Job) Stop(string) {}

// Err returns the error of all calls.
func (j *Job) Err() error { return errMissing }

// Note fails.
func (j *Job) Note(int) error { return errMissing }

// Noted returns nothing.
func (j *Job) Noted() []Note { return nil }

// Reset fails.
func (j *Job) Reset() error { return errMissing }

// Again fails.
func (j *Job) Again() error { return errMissing }

// Close has nothing to free.
func (j *Job) Close(time.Duration) {}
