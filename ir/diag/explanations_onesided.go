package diag

// oneSidedExamples are one-sided programs, as plans in JSON, that are rejected with a code. In the text
// form of mscclc show the first move is "mv input[0] -> output[0] 1:output[0]".
var oneSidedExamples = map[Code]string{
	// Each waits for the other's signal before it gives its own.
	Deadlock: `
{"format":"mscclc-plan","version":1,"name":"a","collective":{"kind":"broadcast","ranks":2,"chunks":1,"inplace":false},
"protocol":"Simple","sizes":[0,0],"ranks_per_node":2,"channels":1,"even":false,"in_place":false,"out_of_place":true,"depth":1,
"files":[],"spans":[],"ranks":[
{"rank":0,"scratch":0,"flags":1,"blocks":[{"send":-1,"recv":-1,"channel":0,"steps":[
{"op":"wait","from":[{"rank":0,"buf":"f","index":0,"nth":1}],"enter":true},
{"op":"mv","from":[{"rank":0,"buf":"i","index":0}],"to":[{"rank":0,"buf":"o","index":0},{"rank":1,"buf":"o","index":0}],"count":1},
{"op":"signal","to":[{"rank":1,"buf":"f","index":0}],"leave":true}]}]},
{"rank":1,"scratch":0,"flags":1,"blocks":[{"send":-1,"recv":-1,"channel":0,"steps":[
{"op":"wait","from":[{"rank":1,"buf":"f","index":0,"nth":1}],"leave":true},
{"op":"signal","to":[{"rank":0,"buf":"f","index":0}],"enter":true}]}]}
]}
`,
	// Nothing tells rank 1 when its scratch is written, nor rank 0 when it has been read.
	Race: `
{"format":"mscclc-plan","version":1,"name":"a","collective":{"kind":"broadcast","ranks":2,"chunks":1,"inplace":false},
"protocol":"Simple","sizes":[0,0],"ranks_per_node":2,"channels":1,"even":false,"in_place":false,"out_of_place":true,"depth":1,
"files":[],"spans":[],"ranks":[
{"rank":0,"scratch":0,"flags":0,"blocks":[{"send":-1,"recv":-1,"channel":0,"steps":[
{"op":"mv","from":[{"rank":0,"buf":"i","index":0}],"to":[{"rank":0,"buf":"o","index":0},{"rank":1,"buf":"s","index":0}],"count":1}]}]},
{"rank":1,"scratch":1,"flags":0,"blocks":[{"send":-1,"recv":-1,"channel":0,"steps":[
{"op":"mv","from":[{"rank":1,"buf":"s","index":0}],"to":[{"rank":1,"buf":"o","index":0}],"count":1}]}]}
]}
`,
	// Nobody sends the packets.
	Unmatched: `
{"format":"mscclc-plan","version":1,"name":"a","collective":{"kind":"broadcast","ranks":2,"chunks":1,"inplace":false},
"protocol":"LL","sizes":[0,0],"ranks_per_node":2,"channels":1,"even":false,"in_place":false,"out_of_place":true,"depth":1,
"files":[],"spans":[],"ranks":[
{"rank":0,"scratch":0,"flags":0,"blocks":[{"send":-1,"recv":-1,"channel":0,"steps":[
{"op":"mv","from":[{"rank":0,"buf":"i","index":0}],"to":[{"rank":0,"buf":"o","index":0}],"count":1}]}]},
{"rank":1,"scratch":0,"packets":1,"flags":0,"blocks":[{"send":-1,"recv":-1,"channel":0,"steps":[
{"op":"mv","from":[{"rank":1,"buf":"p","index":0}],"to":[{"rank":1,"buf":"o","index":0}],"count":1}]}]}
]}
`,
	// Scratch is written after it has been read: a pass before does not count.
	Uninitialized: `
{"format":"mscclc-plan","version":1,"name":"a","collective":{"kind":"broadcast","ranks":1,"chunks":1,"inplace":false},
"protocol":"Simple","sizes":[0,0],"ranks_per_node":1,"channels":1,"even":false,"in_place":false,"out_of_place":true,"depth":1,
"files":[],"spans":[],"ranks":[
{"rank":0,"scratch":1,"flags":0,"blocks":[{"send":-1,"recv":-1,"channel":0,"steps":[
{"op":"mv","from":[{"rank":0,"buf":"s","index":0}],"to":[{"rank":0,"buf":"o","index":0}],"count":1},
{"op":"mv","from":[{"rank":0,"buf":"i","index":0}],"to":[{"rank":0,"buf":"s","index":0}],"count":1}]}]}
]}
`,
	// Rank 1 leaves its own part out.
	WrongResult: `
{"format":"mscclc-plan","version":1,"name":"a","collective":{"kind":"allreduce","ranks":2,"chunks":1,"inplace":false},
"protocol":"LL","sizes":[0,0],"ranks_per_node":2,"channels":1,"even":false,"in_place":false,"out_of_place":true,"depth":2,
"files":[],"spans":[],"ranks":[
{"rank":0,"scratch":0,"packets":1,"flags":0,"blocks":[{"send":-1,"recv":-1,"channel":0,"steps":[
{"op":"mv","from":[{"rank":0,"buf":"i","index":0}],"to":[{"rank":1,"buf":"p","index":0}],"count":1},
{"op":"mv","from":[{"rank":0,"buf":"i","index":0},{"rank":0,"buf":"p","index":0}],"to":[{"rank":0,"buf":"o","index":0}],"count":1}]}]},
{"rank":1,"scratch":0,"packets":1,"flags":0,"blocks":[{"send":-1,"recv":-1,"channel":0,"steps":[
{"op":"mv","from":[{"rank":1,"buf":"i","index":0}],"to":[{"rank":0,"buf":"p","index":0}],"count":1},
{"op":"mv","from":[{"rank":1,"buf":"p","index":0}],"to":[{"rank":1,"buf":"o","index":0}],"count":1}]}]}
]}
`,
}
