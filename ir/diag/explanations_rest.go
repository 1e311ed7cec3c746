package diag

// ofTheRest are the codes of machines, files and runs.
var ofTheRest = []Explanation{
	{
		Code: Unsupported,
		Means: `
A target, a format or a program cannot do what the command asks. Examples are a collective or a protocol that the
target does not have, a step that it rejects, and an average where no step makes the complete sum.`,
		Why: `
The file that mscclc would write could not run there.`,
		Fix: `
Follow the hint, which names what the target has, or use --target program, which runs all programs. One-sided programs
need --target program or mscclpp.`,
		Command: "compile - --target msccl",
	},
	{
		Code: Unavailable,
		Means: `
This machine or this build of mscclc cannot do it, whatever the input. A device or its driver is missing, a buffer
does not fit into memory, or GPUs cannot access each other's memory. A build without cgo has no CPU device.`,
		Why: `
The input can be right, but the command cannot do its work here. The exit code is 3.`,
		Fix: `
Use another device (--device cpu) or a smaller size, or run the command on a machine that has what the message names.
The command mscclc topo shows what this machine has.`,
		Command: "run allreduce/ring --bytes 1000000G",
	},
	{
		Code: Io,
		Means: `
A file cannot be read or written. The message ends with the reason that the operating system gives.`,
		Why: `
The command needs that file.`,
		Fix: `
Check the name, the folder and the permissions.`,
		Command: "verify no-such-file.xml",
	},
	{
		Code: Usage,
		Means: `
The command line is wrong. A command or a flag does not exist, a flag does not take the value, or flags contradict
each other. The exit code is 2. Only --json shows this code.`,
		Why: `
The command cannot tell what to do.`,
		Fix: `
Follow the hint. The flag --help lists the flags of a command.`,
	},
	{
		Code: Internal,
		Means: `
mscclc itself has a fault. The exit code is 4.`,
		Why: `
No input and no command line should cause this.`,
		Fix: `
Please report it with the command line and the file.`,
	},
	{
		Code: Timeout,
		Means: `
A wait on a device took longer than --timeout. The message names rank, thread block, step and source line, and what
the step waited for: a message, a free slot, another block's step, a signal or packets.`,
		Why: `
A proven program does not hang by itself, so a rank has died or never started, or the machine is very slow.`,
		Fix: `
Look at the rank that the message waits for. The step that it names may wait for another rank in turn. For large calls
on slow machines, raise --timeout.`,
	},
	{
		Code: NothingCompared,
		Means: `
A run compared no element with the expected result.`,
		Why: `
Such a run shows nothing, so mscclc does not call it good. A program whose outputs may hold anything is good: it has
nothing to compare.`,
		Fix: `
Use a larger --bytes, so that every chunk has an element; the hint names the smallest size. A program that does not
say what it computes is compared only after a proof, so leave out --unproven.`,
		Command: "run allreduce/ring --bytes 3",
	},
}

// ofIgnored are what runtimes ignore in a file that they take.
var ofIgnored = []Explanation{
	{
		Code: Ignored,
		Means: `
The runtimes ignore a part of the file. In MSCCL-IR these are elements and attributes that they do not know, such as
the <copy> that TACCL and TE-CCL write. mscclc ignores them too.`,
		Why: `
What such a part says is not done. A <copy> that an AllGather out of place relies on never happens, so that its
outputs are wrong; then another message says so.`,
		Fix: `
Leave the part out, or write what it says as steps. A name that differs from a known one in one letter is an error.`,
		Command: "verify -",
	},
}

// withoutCommand has the reason for each code that no command shows on every machine.
var withoutCommand = map[Code]string{
	Internal: "No known input causes this error.",
	Usage:    "Any wrong flag shows this error, with --json.",
	Timeout:  "It depends on the speed of the machine.",
}
