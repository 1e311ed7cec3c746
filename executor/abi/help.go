package abi

// A Help is what threads of the host do while their blocks wait: they call a C function with an argument. It says
// whether it has found something to do. Both are addresses; the zero Help is none.
type Help struct{ Call, With uint64 }
