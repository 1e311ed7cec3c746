// Package doctorcmd has the command doctor, which says what this machine has. Given a folder, it reads the last calls
// that the processes of a job wrote, and says what does not match, and who waits for whom.
package doctorcmd
