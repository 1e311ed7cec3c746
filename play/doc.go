// Package play makes a Scene from a text. A Scene is all that the page of mscclc play, or a file of show --html, shows
// of an algorithm. Package play compiles, proves and simulates the text. The Scene says which chunk goes where, in
// which order, on which links and when, and lists the errors. A Scene is data: the page draws it.
//
// # Where to begin
//
//   - [Build] makes the Scene of a Request, also if its text has errors.
//   - [Run] runs an [Algorithm] on symbolic chunks, frame by frame. The command show draws its tables from it too.
//   - [HistoryOf] returns the operations that wrote a chunk, and [WrongOf] returns the wrong outputs.
//   - [ReadTrace] makes a Timeline from the trace of a run.
package play
