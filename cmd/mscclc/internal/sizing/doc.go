// Package sizing checks the sizes of calls. It leaves out sizes so small that a chunk has no element, and notes sizes
// that a program is not made for. It also prints sizes in messages.
package sizing
