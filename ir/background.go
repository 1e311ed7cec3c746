package ir

// InBackground begins f, and returns what waits for its result. Where f panics, that does.
func InBackground[T any](f func() T) (wait func() T) {
	var result T
	var failed any
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { failed = recover() }()
		result = f()
	}()
	return func() T {
		if <-done; failed != nil {
			panic(failed)
		}
		return result
	}
}

// AtOnce runs f and g on two threads, and returns when both have ended. Neither may write what the other reads. Where f
// panics, AtOnce does.
func AtOnce(f, g func()) {
	wait := InBackground(func() struct{} { f(); return struct{}{} })
	g()
	wait()
}
