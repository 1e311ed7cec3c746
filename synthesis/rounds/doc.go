// Package rounds finds k-synchronous schedules, as SCCL does (PPoPP 2021): chunks move in steps, a step has some
// rounds, and a link carries a number of chunks in each round. For given chunks and steps it looks for the fewest
// rounds, by a SAT solver, on machines of up to MostRanks GPUs that links join directly.
package rounds
