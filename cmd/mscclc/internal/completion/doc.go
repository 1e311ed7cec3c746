// Package completion says which words and files a shell offers at each place of a command line. The words are names of
// commands, flags, algorithms and so on. They come from the tables that the commands themselves use. The files are
// those with the right endings. The package also has the command mscclc completion, which prints the scripts for
// shells.
package completion
