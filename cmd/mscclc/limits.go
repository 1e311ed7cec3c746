package main

import (
	"slices"
	"strings"

	"mscclc"
	"mscclc/codegen"
	"mscclc/ir"
	"mscclc/ir/verify"
	"mscclc/lang"
)

// limits are the bounds that --limit raises, by the names that messages use.
type limits struct{ set []string }

// The limits that are not the language's.
const (
	instLimit = "insts" // instructions that passes make
	moveLimit = "moves" // chunks that all steps of a program move
	cellLimit = "cells" // chunks of all buffers: the language's, and a program's
	workLimit = "work"  // the search for races
	fileLimit = "file"  // the language's: bytes of a source file
)

func limitNames() []string { return append(lang.LimitNames(), instLimit, moveLimit, workLimit) }

// each calls use for every limit that is set.
func (l *limits) each(use func(name string, n int64) error) error {
	for _, s := range l.set {
		name, value, _ := strings.Cut(s, "=")
		n, err := parseBytes(value)
		if err != nil || n < 1 {
			return usagef("--limit takes NAME=N with N from 1, as in work=100M, not %q; there are %s", s, strings.Join(limitNames(), ", "))
		}
		if !slices.Contains(limitNames(), name) {
			return usagef("no limit is called %q; there are %s", name, strings.Join(limitNames(), ", "))
		}
		if err := use(name, n); err != nil {
			return usagef("%v", err)
		}
	}
	return nil
}

// apply sets the limits of a compilation.
func (l *limits) apply(opt *mscclc.Options) error {
	return l.each(func(name string, n int64) error {
		switch name {
		case instLimit:
			opt.Passes.MaxInsts = int(n)
			return nil
		case moveLimit:
			opt.Check.Moves = int(n)
			return nil
		case workLimit:
			opt.Check.Work = n
			return nil
		case cellLimit:
			opt.Check.Cells = int(n)
		}
		return opt.Lang.Limits.Set(name, n)
	})
}

// read reads the program in s within the limits.
func (c *compiling) read(s *source) (*ir.Program, error) {
	opt, _, err := c.limits.reading()
	if err != nil {
		return nil, err
	}
	return readProgram(s, opt)
}

// file returns how many bytes a source file may have.
func (l *limits) file() int64 {
	limit := int64(lang.DefaultLimits.File)
	l.each(func(name string, n int64) error {
		if name == fileLimit {
			limit = n
		}
		return nil
	})
	return limit
}

// reading gives the limits of reading and of checking a program.
func (l *limits) reading() (read codegen.ReadOptions, check verify.Options, err error) {
	var other lang.Limits
	err = l.each(func(name string, n int64) error {
		switch name {
		case instLimit:
			return nil
		case moveLimit:
			read.MaxMoved, check.Moves = n, int(n)
			return nil
		case workLimit:
			check.Work = n
			return nil
		case cellLimit:
			read.MaxCells, check.Cells = n, int(n)
		}
		return other.Set(name, n)
	})
	return read, check, err
}
