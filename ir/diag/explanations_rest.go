package diag

// ofTheRest are the codes of the language, and of everything else.
var ofTheRest = []Explanation{
	{Syntax, `
The text is not of the grammar. The message names what stands there and what
was expected. A newline ends a statement unless it is inside parentheses or
follows a comma or an operator, and { stays on its line.`, `
algorithm a(
collective allreduce(2)
`, ""},
	{Lexical, `
A character or a literal that the language does not have: a string without its
end, a number too large for 64 bits, // where a comment begins with #.`, `
algorithm a()
collective allreduce(2)
let x = 9999999999999999999999
`, ""},
	{Undefined, `
A name that nothing declares. It may be misspelt, declared further down, or
declared in a block that has ended.`, `
algorithm a()
collective allreduce(2)
chunk(0, inptu, 0).copy(1, output, 0)
`, ""},
	{Redefined, `
A name is declared twice in one block, or is that of a builtin, of input or of
output.`, `
algorithm a()
collective allreduce(2)
let x = 1
let x = 2
`, ""},
	{Kind, `
A value of another kind than is needed. A name keeps the kind of its first
value: integer, boolean, string, list, buffer or reference.`, `
algorithm a()
collective allreduce(2)
let x = 1 + true
`, ""},
	{Assign, `
A name that cannot be assigned: parameters and loop variables keep their
values. Declare a name of your own with let.`, `
algorithm a(n = 1)
collective allreduce(2)
n = 2
`, ""},
	{Arguments, `
Too many or too few arguments, one given twice, or a name that the function
does not have.`, `
algorithm a()
collective allreduce(2)
let x = min()
`, ""},
	{Arithmetic, `
An operation that has no result: division by zero, overflow of 64 bits, a shift
by less than 0 or more than 63, log2 of a number that is no power of two.`, `
algorithm a()
collective allreduce(2)
let x = 1 / 0
`, ""},
	{AssertFailed, `
An assert of the file does not hold; the message is its text. The file's author
rejects these values of the parameters.`, `
algorithm a(n = 3)
collective allreduce(2)
assert(n % 2 == 0, "n must be even")
`, ""},
	{Stale, `
A reference to a chunk that has been overwritten. A reference stands for the
value that the chunk held when it was made; after any write to the chunk, also
by c's own reduce, it is stale. Write c = c.reduce(x), or make a new reference
with chunk(...). That is a matter of the text alone: it is the same for
two-sided and for one-sided programs (--sided one), which are made of it
afterwards and in which data may rest elsewhere.`, `
algorithm a()
collective allreduce(2, chunks = 1, inplace = true)
let c = chunk(0, input, 0)
c.reduce(chunk(1, input, 0))
c.copy(1, input, 0)
`, ""},
	{ReadOnlyInput, `
A write to input in a file that is written out of place. Input is the caller's:
write to output or to scratch, or declare the collective inplace = true. In a
one-sided program other ranks may read it, too, while the call runs.`, `
algorithm a()
collective allreduce(2)
chunk(0, input, 0).copy(1, input, 0)
`, ""},
	{Counts, `
The operands of a copy or a reduction have different counts.`, `
algorithm a()
collective allreduce(2, chunks = 4, inplace = true)
chunk(0, input, 0, 2).reduce(chunk(1, input, 0, 3))
`, ""},
	{Overlap, `
A source and a destination overlap in part, so that some chunks would be
overwritten before they are read. A copy onto exactly itself does nothing, and
is allowed.`, `
algorithm a()
collective allreduce(2, chunks = 4, inplace = true)
chunk(0, input, 0, 2).copy(0, input, 1)
`, ""},
	{Recursion, `
A function that calls itself, directly or through others. Use a loop.`, `
algorithm a()
collective allreduce(2)
def f(n) = f(n - 1)
let x = f(1)
`, ""},
	{ImportFailed, `
A file that cannot be imported: it does not exist, is a whole algorithm and no
library, imports itself, or declares a name that another file has declared. Its
name is relative to the file that imports it.`, `
algorithm a()
collective allreduce(2)
import "nowhere.mscl"
`, ""},
	{Declaration, `
A declaration that is missing, stands in the wrong place or is repeated. A file
begins with its algorithm, and has one collective; declarations come before
functions and statements.`, `
algorithm a()
chunk(0, input, 0).copy(1, output, 0)
`, ""},
	{Parameter, `
A -p that does not fit the file: the algorithm has no parameter of that name, or
one of another kind. Or a flag that cannot change what is compiled already: -p
and --instances, of a one-sided plan also --protocol, since it has packets and
flags for one.`, `
$ mscclc compile ring.mscl -p rnaks=8
`, ""},
	{Hint, `
A hint that cannot be followed: ch, sendtb and recvtb would need a thread block
with two peers to send to or to receive from, or would put the two ends of a
connection on different channels. The note shows what it conflicts with. Of a
one-sided program (--sided one) a via may be impossible: a port copies and
cannot reduce, and the switch reaches input and output of all ranks of one node
at once. Hints for the other lowering are noted and ignored.`, `
algorithm a()
collective alltoall(3)
for r in 0..3, q in 0..3 { chunk(r, input, q).copy(q, output, r, sendtb = 0, recvtb = 0, ch = 0) }
`, ""},
	{Unused, `
A value that nothing uses, as a statement by itself. A bare statement is a call
or an operation: copy, reduce or assert.`, `
algorithm a()
collective allreduce(2)
1 + 1
`, ""},
	{Mixed, `
An algorithm is of one level. At the level of chunks, a copy or a reduce says
what goes where, and the compiler finds thread blocks and synchronises them. At
the level of channels, every operation says which thread block does it (tb = 0),
and signals, waits and packets order them as they are written. One with tb
beside one without has no meaning: what the compiler would place would not know
of the author's signals.`, `
algorithm a()
collective allgather(2)
chunk(0, input, 0).copy(1, output, 0)
chunk(0, input, 0).copy(0, output, 0, tb = 0)
`, ""},
	{Channel, `
What a channel, or the thread block that uses it, cannot do: a put of what is
not on the channel's own rank, or a get of what is not on the other; a signal
through a switch; a flush of a channel that is no port; an operand of another
rank to which the rank has no memory channel; packets where the protocol is
Simple.`, `
algorithm a()
collective allgather(2)
let c = channel(0, 1)
c.put(chunk(1, input, 0), output, 1, tb = 0)
`, ""},
	{NotInPlace, `
The collective has no in-place form (alltoall, sendrecv and custom), or the
file, expanded with input and output as one memory, no longer meets the
post-condition.`, `
$ mscclc compile two_step.mscl --inplace=true
`, ""},
	{Unsupported, `
What a target, a format or a program cannot do: a collective or a protocol that
the target has no word for, a step that it rejects, an average where no step
makes the whole sum. MSCCL-IR XML has no one-sided programs: these are for
--target plan.`, `
$ mscclc compile a.mscl --protocol LL16 --target msccl
`, ""},
	{Unavailable, `
What this machine or this build of mscclc cannot do, whatever the input: a
device that is not there, the CPU device in a build without cgo, a target whose
writer does not exist yet, buffers larger than the memory, GPUs that do not
reach each other's memory, which one-sided programs need.`, `
$ mscclc run allreduce/ring --device cuda
`, ""},
	{Io, `
A file that cannot be read or written. The message is the system's.`, `
$ mscclc verify no-such-file.xml
`, ""},
	{Internal, `
A fault of mscclc itself, not of its input. Please report it with the file and
the command line.`, `
(no input should bring this about)
`, ""},
	{Timeout, `
A wait on a device that outlasted its deadline. The report names rank, thread
block, step and source line, what was waited for and what was seen: of a
two-sided program a message, a free slot or another block's step; of a one-sided
one a signal of a flag, counted in the launch, or packets, who gives them, and
the pass and the column where there are several. A program that mscclc has
verified does not hang by itself: look for a rank that died or was never
started, which may be one that the step named waits for in turn.`, `
$ mscclc run ring.mscl --timeout 1ms --bytes 1G
`, ""},
	{NothingCompared, `
A run that compares no element shows nothing. The call may be too small to hold
an element of each chunk. Or the program does not say what must hold, and runs
with --unproven, so that no proof says it either.`, `
$ mscclc run allreduce/ring --bytes 3
`, ""},
}
