package verify

// OneAfterTheOther runs f while what is found of a one-sided program is what is found without judging two things at
// once.
func OneAfterTheOther(f func()) {
	judgedAgain = true
	defer func() { judgedAgain = false }()
	f()
}
