// Package doctorcmd has the command doctor, which reads the last calls that the processes of a job wrote, and says what
// does not match, and who waits for whom.
package doctorcmd
