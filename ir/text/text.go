// Package text writes the text forms of the programs of package ir: WriteChunks, WriteInsts, WriteProgram and
// WriteChannels. Commands print these forms, and `mscclc compile --dump` writes them to files. The readers of these
// forms are in ir/irtest/parse, for tests. The package exports the rules for omitted fields, which writers and readers
// share.
package text

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// This file holds what the text forms share. They are for people, dumps and
// tests: a line an item, `#` begins a comment, what is left out has its
// default, and what is written parses back to the same thing.
//
// Every form begins with its kind and name and the header:
//
//	insts ring                                   or: chunks "two words"
//	collective allreduce ranks=4 chunks=4 inplace
//	    root=0, peer=1,2,0, in=4, out=2 and each=4/2,4/4 where the kind needs them
//	require 2 output[0] = 0 input[1] + 1 input[1]    of a custom collective
//	protocol LL                                  default: Simple
//	sizes 1024..65536                            bytes; 0 as the end is no bound
//	ranks_per_node 2
//	hint ch=1 sendtb=0 recvtb=2 lane=3 via=1 pull       hint 1, 2, ...; hint 0 asks nothing
//	span ring.mscl line=14 col=13 offset=402 len=21   pos 0, 1, ...

// writeText runs write with a buffer before w.
func writeText(w io.Writer, write func(b *bufio.Writer)) error {
	b := bufio.NewWriterSize(w, 1<<16)
	write(b)
	return b.Flush()
}

func appendRef(b []byte, buf string, index, count int32) []byte {
	b = append(append(append(b, buf...), '['), strconv.Itoa(int(index))...)
	b = append(b, ']')
	if count != 1 {
		b = append(append(b, '*'), strconv.Itoa(int(count))...)
	}
	return b
}

// writePerRank writes the length of a buffer of each rank: one number where all
// have the same.
func writePerRank(b *bufio.Writer, what string, n []int32) {
	if n == nil {
		return
	}
	if len(n) > 0 && !slices.ContainsFunc(n, func(x int32) bool { return x != n[0] }) {
		n = n[:1]
	}
	fmt.Fprintf(b, "%s %s\n", what, joinInts(n))
}

func joinInts(n []int32) string {
	var b []byte
	for i, x := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(x), 10)
	}
	return string(b)
}

// quoteWord writes s so that string reads it back.
func quoteWord(s string) string {
	plain := s != "" && s[0] != '#' && s[0] != '"' && s[0] != '`' && s[0] != '\''
	for _, r := range s {
		plain = plain && r > ' ' && r < 0x7f
	}
	if plain {
		return s
	}
	return strconv.Quote(s)
}
