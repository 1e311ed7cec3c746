//go:build !unix

package gputest

// lock takes no lock: no test runs on the mock driver there.
func lock(string) (unlock func(), err error) { return func() {}, nil }
