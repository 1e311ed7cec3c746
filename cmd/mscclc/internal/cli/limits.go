package cli

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"mscclc"
	"mscclc/codegen"
	"mscclc/files"
	"mscclc/ir/diag"
	"mscclc/ir/verify"
	"mscclc/lang/syntax"

	"github.com/spf13/pflag"
)

// Limits are the bounds that --limit sets, where each of them holds. A field that is 0 is the usual bound.
type Limits struct {
	Lang  syntax.Limits
	Read  codegen.ReadOptions
	Check verify.Options
	insts int // that passes make
	Names []string
}

// LimitFlag adds --limit for limits of some names.
func LimitFlag(f *pflag.FlagSet, l *Limits, names []string) {
	l.Names = names
	f.Var(l, "limit", "raise a limit that a message named: `NAME=N`, with K, M or G; there are "+strings.Join(names, ", "))
}

// LimitNames returns the limits by the names that messages use: the language's, and those of programs.
func LimitNames() []string { return append(syntax.LimitNames(), "insts", "moves", "work") }

// String implements pflag.Value.
func (l *Limits) String() string { return "" }

// Type implements pflag.Value.
func (l *Limits) Type() string { return "stringArray" }

// Set sets one limit.
func (l *Limits) Set(s string) error {
	name, value, _ := strings.Cut(s, "=")
	if !slices.Contains(l.Names, name) {
		return fmt.Errorf("no limit here is called %q; there are %s", name, strings.Join(l.Names, ", "))
	}
	n, err := ParseBytes(value)
	if most := diag.MostLimit(name); err != nil || n < 1 || n > most {
		return fmt.Errorf("%s takes a number from 1 to %s, such as 1K", name, diag.LimitText(most))
	}
	switch name {
	case "insts":
		l.insts = int(n)
	case "moves":
		l.Read.MaxMoved, l.Check.Moves = n, int(n)
	case "work":
		l.Check.Work = n
	case "cells":
		l.Read.MaxCells, l.Check.Cells = n, int(n)
	case "file":
		l.Read.MaxFile = max(n, codegen.MaxFile) // the flag raises it, and is smaller where it is for a source file
	}
	if slices.Contains(syntax.LimitNames(), name) {
		return l.Lang.Set(name, n)
	}
	return nil
}

// StrictFlag adds --strict.
func StrictFlag(f *pflag.FlagSet, l *Limits) {
	f.BoolVar(&l.Read.Strict, "strict", false, "reject plans of MSCCL++ with keys that it ignores")
}

// Apply sets the limits of a compilation.
func (l *Limits) Apply(opt *mscclc.Options) {
	opt.Lang.Limits, opt.Passes.MaxInsts, opt.Check = l.Lang, l.insts, l.Check
}

// File returns how many bytes a source file may have, with all that it imports.
func (l *Limits) file() int64 {
	if l.Lang.File > 0 {
		return int64(l.Lang.File)
	}
	return int64(syntax.DefaultLimits.File)
}

// WriteProgram writes a program, and notes what reading it takes where the usual limit does not do.
func (a *App) WriteProgram(path string, product func(io.Writer) error) error {
	var written counter
	if err := a.WriteTo(path, func(w io.Writer) error { return product(io.MultiWriter(w, &written)) }); err != nil {
		return err
	}
	switch n, most := int64(written), diag.MostLimit("file"); {
	case n <= codegen.MaxFile:
	case n > most:
		a.Note("", "the program has %d bytes, and mscclc reads files of up to %s", n, SizeText(most))
	default:
		a.Note("", "the program has %d bytes: mscclc reads it with --limit file=%s", n, diag.LimitText(n))
	}
	return nil
}

// A counter counts the bytes that are written to it.
type counter int64

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

// ParseBytes reads a number of bytes: digits, and K, M or G for powers of 1024, also as k, KB or KiB.
func ParseBytes(s string) (int64, error) {
	digits, shift := files.CutSizeUnit(s)
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > 1<<50>>shift {
		return 0, Usagef("%q is not a number of bytes: write 1048576, 1024K, 1M, 1MiB or 1G", s)
	}
	return n << shift, nil
}

// SizeText is n as a person reads it.
func SizeText(n int64) string { return diag.SizeText(n) }

// CheckSizes refuses sizes of -b, -e and -f: from first to last, each factor times the one before.
func CheckSizes(first, last, factor int64) error {
	switch {
	case first < 1:
		return Usagef("-b takes 1 or more bytes")
	case last < first:
		return Usagef("-e is %s, less than -b, which is %s", SizeText(last), SizeText(first))
	case factor < 2:
		return Usagef("-f takes 2 or more, not %d", factor)
	}
	return nil
}
