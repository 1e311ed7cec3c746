package play

// A Machine is what the program runs on.
type Machine struct {
	Spec     string   `json:"spec"` // as it was asked for: h200, dgx_h100:nodes=2, or the name of the .topo text
	Name     string   `json:"name"`
	Doc      string   `json:"doc"`
	Device   string   `json:"device"`
	Nodes    int      `json:"nodes"`
	GPUs     int      `json:"gpus"` // of a node
	Vertices []Vertex `json:"vertices"`
	Links    []Link   `json:"links"`
	Seats    []int    `json:"seats"`   // by rank: its vertex; empty where the machine has no room
	Paths    []Path   `json:"paths"`   // between ranks that operations join
	Problem  string   `json:"problem"` // why there is no machine, or no room on it; "" where all is well
}

// A Vertex is a GPU, a NIC or a switch.
type Vertex struct {
	Kind  string `json:"kind"`  // gpu, nic or switch
	Group string `json:"group"` // its name in the .topo text
	Node  int    `json:"node"`  // -1: of no node
	Index int    `json:"index"` // in its group, of its node
	Rank  int    `json:"rank"`  // that runs on it, or -1
	Name  string `json:"name"`  // as reports have it: "node 0 gpu[3]"
}

// A Link is one direction of a link.
type Link struct {
	From    int     `json:"from"` // vertices
	To      int     `json:"to"`
	Class   string  `json:"class"`
	Width   int     `json:"width"` // links of the class side by side
	GBs     float64 `json:"gbs"`   // of all of them
	Latency float64 `json:"latency_us"`
	Network bool    `json:"network"` // between nodes
}

// A Path is the links from one rank to another, in order.
type Path struct {
	From  int   `json:"from"` // ranks
	To    int   `json:"to"`
	Links []int `json:"links"`
}

// A Timeline is when the steps of a call ran, simulated or traced.
type Timeline struct {
	Source     string     `json:"source"` // simulation or trace
	Title      string     `json:"title"`
	Launch     float64    `json:"launch_us"`  // from the call's begin to time 0 of the spans
	End        float64    `json:"end_us"`     // of the iterations' last span, shown or not
	Iterations int        `json:"iterations"` // tile iterations that have spans
	Of         int        `json:"of"`         // that the call has
	Replicas   int        `json:"replicas"`   // that a row stands for; 0 is not known
	Rows       []Row      `json:"rows"`
	Looks      []string   `json:"looks"` // what spans are: "copy over nvlink", "reduce in the GPU", "signal", "wait"
	Spans      []TimeSpan `json:"spans"` // in the order of their begins
	Steps      []Step     `json:"steps"` // that spans are of
	Links      []Busy     `json:"links"` // how long links were occupied, the busiest first; empty for a trace

	all int // spans that the iterations have
}

// A Row is a thread block, or in a trace of several nodes the messages to or from a rank.
type Row struct {
	Rank  int    `json:"rank"`
	Block int    `json:"block"` // of the rank, -1 for messages
	Name  string `json:"name"`
}

// A TimeSpan is one step in one tile iteration.
type TimeSpan struct {
	Row       int     `json:"row"`
	Step      int     `json:"step"` // of Timeline.Steps
	Look      int     `json:"look"`
	Iteration int     `json:"iteration"`
	Begin     float64 `json:"begin_us"`  // when its block came to it
	Waited    float64 `json:"waited_us"` // of the length, before it had all that it waits for
	Length    float64 `json:"length_us"`
}

// A Step is a step of a thread block.
type Step struct {
	Rank  int    `json:"rank"`
	Block int    `json:"block"`
	Step  int    `json:"step"`  // within the block
	Name  string `json:"name"`  // as messages have it: "rank 0 block 1 step 2 (s)"
	Text  string `json:"text"`  // what it does
	Op    int    `json:"op"`    // the operation that it is a part of, or -1
	Ops   []int  `json:"ops"`   // all that it is a part of, Op first: steps are fused
	Frame int    `json:"frame"` // of Op, or -1
	At    Span   `json:"at"`
}

// A Busy says how long a link was occupied.
type Busy struct {
	Link  int     `json:"link"`
	Us    float64 `json:"us"`
	Share float64 `json:"share"` // of the call's time, from 0 to 1
}

// Figures are what a call costs, as mscclc simulate prints them.
type Figures struct {
	Bytes    int64    `json:"bytes"`
	DType    string   `json:"dtype"`
	Latency  float64  `json:"latency_us"`
	AlgBW    float64  `json:"algbw_gbs"`
	BusBW    float64  `json:"busbw_gbs"`
	Bound    *float64 `json:"bound_us"` // the least time that the links allow; null if it is not known
	Share    *float64 `json:"of_bound"` // Bound / Latency
	Cut      string   `json:"cut"`      // the links that limit it
	Link     int      `json:"link"`     // the busiest, or -1
	LinkName string   `json:"linkName"`
	Occupied float64  `json:"occupied"` // the part of the time that it was, from 0 to 1
	Caveat   string   `json:"caveat"`   // where the device's costs are estimates
	Text     string   `json:"text"`     // one line of all that
}
