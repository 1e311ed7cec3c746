// Package rounds finds schedules of few rounds, as SCCL does (PPoPP 2021). Chunks move in steps, and each step has one
// or more rounds. In each round, a link carries a fixed number of chunks. For given numbers of chunks and steps, a SAT
// solver finds the fewest rounds. The package supports machines of up to MostRanks GPUs with direct links between GPUs.
package rounds
