package play

// A Fault shows why a program is rejected: its first problem with a counterexample, or its first problem.
type Fault struct {
	Kind string `json:"kind"` // deadlock, race, wrong-result, uninitialized or other
	Code string `json:"code"`
	Text string `json:"text"` // the problem's
	Hint string `json:"hint"`
	At   Span   `json:"at"`

	// Steps are the steps of thread blocks that are lit: the cycle of a deadlock, in its order, the later and the earlier
	// access of a race, the step that wrote or read the wrong chunk. Empty where the problem is of the source alone.
	Steps []FaultStep `json:"steps"`

	Waits   []Wait `json:"waits"`   // of a deadlock: Waits[i].Step waits for Waits[i].On, whose block stands at Waits[i].At
	Missing string `json:"missing"` // of a race: which signal, flag or message is missing
	Chunk   *Ref   `json:"chunk"`   // that the accesses race for, or that is wrong; null for a deadlock
	Holds   string `json:"holds"`   // of a wrong result: what the chunk holds
	Must    string `json:"must"`    // and must hold

	History []Event `json:"history"` // of a wrong result: operations that wrote what the chunk holds, in the file's order
	Cut     bool    `json:"cut"`     // there are more
	Blocks  []Block `json:"blocks"`  // the thread blocks of Steps and Waits, with their steps
	Frame   int     `json:"frame"`   // the slider's position that shows it; frames end there for a deadlock
}

// A FaultStep is a step with the part that it has in the fault.
type FaultStep struct {
	Step
	Role string `json:"role"` // waits, writes, reads, wrote
}

// A Wait is a step that never begins or ends. Step, On and At index Fault.Steps.
type Wait struct {
	Step  int    `json:"step"`
	Cause string `json:"cause"` // step, message, slot or flag
	On    int    `json:"on"`    // what would end the wait, or -1
	At    int    `json:"at"`    // where the block of that step stands, or -1
	Text  string `json:"text"`
}

// An Event is an operation of a chunk's history, as mscclc trace-chunk prints it.
type Event struct {
	Op          int      `json:"op"` // of Scene.Ops
	Frame       int      `json:"frame"`
	At          Span     `json:"at"`
	Writes      string   `json:"writes"` // "2:output[1]"
	Reads       []string `json:"reads"`
	Where       []string `json:"where"`
	Holds       string   `json:"holds"` // what it leaves
	Overwritten bool     `json:"overwritten"`
}

// A Block is a thread block of a fault, as text.
type Block struct {
	Rank  int         `json:"rank"`
	Block int         `json:"block"`
	Name  string      `json:"name"`
	Steps []BlockStep `json:"steps"` // at most 64 around those that are lit
}

// A BlockStep is a step of such a block.
type BlockStep struct {
	Step  int    `json:"step"`
	Text  string `json:"text"`
	State string `json:"state"` // ran, stands or waits behind; "" where the program runs to its end
	Lit   bool   `json:"lit"`
	At    Span   `json:"at"`
}
