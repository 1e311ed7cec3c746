// Package sizing has the sizes of calls: which of them have data, which of them a program is for, and how messages
// write them.
package sizing
