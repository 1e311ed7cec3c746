// Package completion says what shells offer at each place of a command line: words, from the tables that the commands
// work by, and files with some endings. It makes mscclc completion too.
package completion
