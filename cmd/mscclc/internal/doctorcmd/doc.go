// Package doctorcmd is mscclc doctor: it reports what this machine has and lacks. For a folder, it reads the last calls
// that the processes of a job recorded there. It reports which calls do not match, and which processes wait for which
// others.
package doctorcmd
