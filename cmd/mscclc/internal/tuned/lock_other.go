//go:build !unix

package tuned

// Lock does nothing: this system has no such locks.
func Lock() (unlock func(), busy bool, err error) { return func() {}, false, nil }
