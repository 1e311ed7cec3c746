// Package play makes a Scene of a text: all that the page of mscclc play, and a file of show --html, shows of an
// algorithm. It compiles, proves and simulates the text, and says which chunk goes where in which order, on which
// links, when, and what is wrong. A Scene is data: the page draws it.
//
// # Where to begin
//
//   - [Build] makes the Scene of a Request, whatever is wrong with its text.
//   - [Run] runs an [Algorithm] on symbolic chunks, frame by frame. The command draws its tables from it too.
//   - [HistoryOf] tells which operations wrote a chunk, and [WrongOf] which outputs are wrong.
//   - [ReadTrace] makes a Timeline of the trace of a run.
package play
