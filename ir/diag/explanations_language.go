package diag

// ofLanguage are the codes of .mscl files and of what they declare.
var ofLanguage = []Explanation{
	{
		Code: Syntax,
		Means: `
The text does not follow the grammar. The message names what the reader found and what it expected.`,
		Why: `
mscclc cannot know what the line means.`,
		Fix: `
Correct the text at the caret. A newline ends a statement, except inside parentheses or after a comma or an operator,
and { stays on its line. The command mscclc help language prints the grammar of .mscl files.`,
	},
	{
		Code: Lexical,
		Means: `
The file contains a character or a literal that its language does not have. Examples are a string without its end, a
number that does not fit into 64 bits, and // where a comment begins with #.`,
		Why: `
mscclc cannot split the line into words and numbers.`,
		Fix: `
Correct the characters at the caret.`,
	},
	{
		Code: Undefined,
		Means: `
A name is used that nothing declares.`,
		Why: `
The name has no value.`,
		Fix: `
Check the spelling; the hint names a similar one. Declare the name above its first use. A name that is declared inside
{ } does not exist after the }.`,
	},
	{
		Code: Redefined,
		Means: `
A name is declared twice in one block, or is taken. Builtin functions, input and output have taken their names.`,
		Why: `
Two values with one name are almost always a mistake.`,
		Fix: `
Choose another name. To change a value, write x = e without let.`,
	},
	{
		Code: Kind,
		Means: `
A value has another kind than the operation needs. The kinds are integer, boolean, string, list, buffer and reference.
A name keeps the kind of its first value.`,
		Why: `
The operation has no meaning for that kind.`,
		Fix: `
Use a value of the kind that the message names.`,
	},
	{
		Code: Assign,
		Means: `
The file assigns to a name that cannot change. Parameters and loop variables keep their values.`,
		Why: `
A reader of the file can rely on the value that -p or the loop gives.`,
		Fix: `
Declare a name of your own with let, and assign to that.`,
	},
	{
		Code: Arguments,
		Means: `
The arguments of a call do not fit the function. There are too few or too many, one is given twice, or the function
does not have one of that name.`,
		Why: `
The function cannot run without its arguments, and ignores none.`,
		Fix: `
Compare the call with the function's declaration. The command mscclc help language lists the builtin functions.`,
	},
	{
		Code: Arithmetic,
		Means: `
An operation has no result. Examples are a division by zero, an overflow of 64 bits, a shift by more than 63, and log2
of a number that is not a power of two.`,
		Why: `
mscclc does not guess a number, since chunk indices are made of it.`,
		Fix: `
Check the values that the message names, and the parameters that they come from.`,
	},
	{
		Code: AssertFailed,
		Means: `
An assert of the file does not hold. The message is the text of that assert.`,
		Why: `
The author of the algorithm excludes these values of the parameters.`,
		Fix: `
Set other values with -p NAME=VALUE or --ranks N.`,
	},
	{
		Code: Stale,
		Means: `
A reference is used after its chunk was overwritten. A reference stands for the value that the chunk held when the
reference was made. Any later write to the chunk makes it stale, also c.reduce(x) for c itself.`,
		Why: `
The text means the old value, which no longer exists.`,
		Fix: `
Write c = c.reduce(x), or make a new reference with chunk(...) after the write.`,
	},
	{
		Code: ReadOnlyInput,
		Means: `
A file that is written out of place writes to input.`,
		Why: `
Input belongs to the caller, and must hold the same data after the call. In one-sided programs other ranks may still
read it.`,
		Fix: `
Write to output or to scratch, or declare the collective with inplace = true.`,
	},
	{
		Code: Counts,
		Means: `
The operands of a copy or a reduction have different counts.`,
		Why: `
Each chunk of one operand needs a chunk of the other.`,
		Fix: `
Use the same count in all operands.`,
	},
	{
		Code: Overlap,
		Means: `
The source and the destination of an operation overlap in part.`,
		Why: `
Some chunks would be overwritten before they are read.`,
		Fix: `
Copy through scratch, or choose ranges that do not overlap. A copy of a range onto exactly itself is allowed.`,
	},
	{
		Code: Recursion,
		Means: `
A function calls itself, directly or through other functions.`,
		Why: `
The language has no recursion, so that the expansion of every file ends.`,
		Fix: `
Use a loop.`,
	},
	{
		Code: ImportFailed,
		Means: `
A file cannot be imported. It does not exist, is an algorithm instead of a library, imports itself, or declares a name
that another file has declared.`,
		Why: `
The functions that the importing file needs are missing or ambiguous.`,
		Fix: `
Write the name relative to the file that imports it, or add a folder with --import-path. A library has functions and
no algorithm line.`,
	},
	{
		Code: Declaration,
		Means: `
A declaration is missing, repeated or in the wrong place.`,
		Why: `
mscclc needs one algorithm line and one collective line to know what the program must compute.`,
		Fix: `
Begin the file with its algorithm line, then the collective line, then other declarations, and then functions and
statements.`,
	},
	{
		Code: Parameter,
		Means: `
A -p or --ranks does not fit the file. The algorithm has no parameter of that name, or its value has another kind. Or
the file is compiled already, and -p, --instances or --protocol can no longer change it.`,
		Why: `
mscclc does not ignore a setting, since the result would not be what you asked for.`,
		Fix: `
Read the algorithm line of the file, or run mscclc list, which shows the parameters of the catalog's algorithms. Give
flags of compilation with the .mscl file.`,
		Command: "compile - -p rnaks=8",
	},
	{
		Code: Hint,
		Means: `
A hint of an operation cannot be followed. Two-sided programs have ch, sendtb and recvtb: a thread block would send to
two peers or receive from two, or the two ends of a connection would have different channels. With via, a port would
have to reduce, or a switch would have to reach other memory than input and output of all ranks of one node. A number
is outside its range: channels, thread blocks and labels of lanes are 0 to 32767.

A lane that has such a label is never an error: where a rank has more labels than --lanes, some share a lane.`,
		Why: `
A thread block has one peer to send to and one to receive from, and the hardware has these limits.`,
		Fix: `
Remove the hint or change it. The note shows the operation that it conflicts with. Without hints, mscclc chooses
thread blocks and channels itself.`,
	},
	{
		Code: Unused,
		Means: `
A statement is only a value, and nothing uses it.`,
		Why: `
The line does nothing, so it is almost always a mistake.`,
		Fix: `
Assign the value, or write a call: copy, reduce, assert or a function of your own.`,
	},
	{
		Code: Mixed,
		Means: `
One algorithm mixes two levels. At the level of chunks, copies and reductions say what goes where, and the compiler
chooses thread blocks and synchronises them. At the level of channels, every operation names its thread block (tb =
0), and the file orders all of them with signals, waits and packets.`,
		Why: `
The compiler would place operations without knowledge of the author's signals.`,
		Fix: `
Give every operation a tb, or none.`,
	},
	{
		Code: Channel,
		Means: `
A channel, or the thread block that uses it, cannot do the operation. A put sends from the channel's own rank, and a
get reads from the other. Signals do not go through a switch. Only a port channel has a flush. Packets need a protocol
other than Simple.`,
		Why: `
MSCCL++ has no such operation.`,
		Fix: `
Let the rank that owns the data put it, or use a channel between the right ranks. The command mscclc help channels
lists the operations of each channel.`,
	},
	{
		Code: NotInPlace,
		Means: `
The program cannot run in place. The collective has no in-place form (alltoall and sendrecv), or the algorithm
gives a wrong result if input and output are one memory.`,
		Why: `
A write to output would destroy input that a later step still reads.`,
		Fix: `
Compile without --inplace, or change the algorithm so that it reads a chunk before it overwrites it.`,
		Command: "compile - --inplace=true",
	},
}
