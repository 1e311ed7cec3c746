// Package verifycmd is mscclc verify: it proves the programs of files and folders, several at once. It reports errors
// as lines, JSON or SARIF. It also shows counterexamples, and replays them on the CPU.
package verifycmd
