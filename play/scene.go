package play

// A Scene is all that the page shows of one text. Ranks, vertices, links, operations and frames are numbered from 0 and
// index the lists that have them; -1 is none. Lists are never null. Times are in microseconds, sizes in bytes and
// bandwidths in GB/s (1e9 bytes a second).
type Scene struct {
	Schema  int     `json:"schema"`
	Name    string  `json:"name"` // of the file or of the program of the catalog
	Text    string  `json:"text"` // of the file; "" of one that is binary
	Kind    string  `json:"kind"` // chunks, channels, two-sided, one-sided or library; none where the text has no program
	Verdict Verdict `json:"verdict"`

	Params     []Param    `json:"params"` // of the file, with their values
	Protocol   string     `json:"protocol"`
	Sided      string     `json:"sided"` // two or one: how the timeline's program is compiled
	Collective Collective `json:"collective"`

	Buffers  []Buffer  `json:"buffers"`
	Columns  []Column  `json:"columns"`  // of the table, the same for all ranks
	Contents []Content `json:"contents"` // that chunks have; others refer to them by index
	Start    []Holds   `json:"start"`    // before the first frame; chunks that are not listed hold nothing
	Ops      []Op      `json:"ops"`
	Frames   []Frame   `json:"frames"`
	Wrong    []Wrong   `json:"wrong"` // chunks of outputs that end wrong, at most 64

	Machine  Machine   `json:"machine"`
	Timeline *Timeline `json:"timeline"` // null where nothing was simulated
	Figures  *Figures  `json:"figures"`  // null where nothing was simulated
	Fault    *Fault    `json:"fault"`    // null where nothing rejects the program

	Notes []string `json:"notes"` // what the reader must know, such as what is left out, a sentence each
}

// SceneSchema is Scene.Schema. It rises when a field changes its meaning.
const SceneSchema = 1

// A Verdict says whether the program is right.
type Verdict struct {
	State    string    `json:"state"` // proven, rejected, unproven (valid, but not proven here) or nothing (a library)
	Line     string    `json:"line"`  // one line, as verify prints it: "ok    NAME    proven: ..." or "FAIL  NAME    1 problem: race"
	Text     string    `json:"text"`  // the diagnostics as verify prints them, "" where there are none
	Problems []Problem `json:"problems"`
}

// A Problem is a diagnostic.
type Problem struct {
	Code    string `json:"code"`
	Warning bool   `json:"warning"`
	Text    string `json:"text"`
	Hint    string `json:"hint"`
	At      Span   `json:"at"`
	Notes   []Note `json:"notes"`
}

// A Note is a second source position of a problem.
type Note struct {
	Text string `json:"text"`
	At   Span   `json:"at"`
}

// A Span is a run of bytes on a line of a file. Line and Column count from 1; Line 0 is no position.
type Span struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"` // in bytes
	Length int    `json:"length"` // in bytes
}

// A Param is a parameter of the file.
type Param struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	Default string `json:"default"`
	Given   bool   `json:"given"` // by the request, or to get fewer ranks
}

// A Collective is what the program must do.
type Collective struct {
	Kind    string `json:"kind"` // allreduce, allgather, ...
	Ranks   int    `json:"ranks"`
	Root    int    `json:"root"`    // -1 where the kind has none
	InPlace bool   `json:"inPlace"` // input and output are one memory
	Nodes   int    `json:"nodes"`
	NodeOf  []int  `json:"nodeOf"` // by rank
}

// A Buffer is a buffer that ranks have.
type Buffer struct {
	Name   string `json:"name"`   // input, output or the name of a scratch buffer
	Chunks []int  `json:"chunks"` // by rank
}

// A Column is a chunk of each rank. In place, input and output share columns, and Buffer is the larger of the two.
type Column struct {
	Buffer int `json:"buffer"`
	Index  int `json:"index"`
}

// A Content is what a chunk may hold: the sum of parts, one part for a copy of an input.
type Content struct {
	Text  string   `json:"text"`  // short, for a cell: "1:0" is chunk 0 of rank 1's input, "0–2:0" a sum over ranks 0 to 2
	Says  string   `json:"says"`  // as ir/eval says it: "the sum of in[r][0] of ranks 0-2"
	Parts [][2]int `json:"parts"` // rank and index of an input, sorted by index and rank, at most 256
	Size  int      `json:"size"`  // how many parts there are, counted as often as they occur
}

// A Holds says what a chunk holds.
type Holds struct {
	Rank    int `json:"rank"`
	Column  int `json:"column"`
	Content int `json:"content"`
}

// A Ref is a run of chunks of a rank.
type Ref struct {
	Rank   int `json:"rank"`
	Buffer int `json:"buffer"`
	Index  int `json:"index"`
	Column int `json:"column"` // of the first chunk; the others have the next columns
}

// An Op writes a copy of its one source, or the sum of its sources, to each of its destinations.
type Op struct {
	Kind  string   `json:"kind"`  // copy or reduce
	Count int      `json:"count"` // chunks of each source and destination
	From  []Ref    `json:"from"`
	To    []Ref    `json:"to"`
	Level string   `json:"level"` // rank: within a rank; node: within a node; network: between nodes
	Paths []int    `json:"paths"` // indices in Machine.Paths: what moves over links, one for each pair of ranks
	At    Span     `json:"at"`
	Here  Span     `json:"here"`  // At, or of an imported file the call in the shown file that led there
	Where []string `json:"where"` // values of loops, and calls: "r = 2", one a loop or call, the innermost first
	Frame int      `json:"frame"`
}

// A Frame is what happens between two positions of the slider. Position 0 is the start, and position k+1 is after frame
// k. The operations of a frame read what was there before the frame.
type Frame struct {
	Ops    []int    `json:"ops"`
	Writes []Write  `json:"writes"`   // all that changes in the table
	Begin  *float64 `json:"begin_us"` // of its operations in the simulated call's first tile iteration; null if not known
	End    *float64 `json:"end_us"`
}

// A Write is a chunk that an operation of a frame writes.
type Write struct {
	Rank    int `json:"rank"`
	Column  int `json:"column"`
	Content int `json:"content"` // -1: what it wrote holds nothing
	Op      int `json:"op"`
}

// A Wrong is a chunk of an output that ends wrong.
type Wrong struct {
	Rank   int    `json:"rank"`
	Column int    `json:"column"`
	Index  int    `json:"index"` // of the output
	Mark   string `json:"mark"`  // "-" lacks inputs, "+" has some twice, "x" holds others, "0" holds nothing
	Text   string `json:"text"`
}
