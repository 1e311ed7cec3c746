package lang

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mscclc/lang/syntax"
)

// TestHostile gives files that are made to take long, to nest deep or to fill
// memory. Each must end soon, with a list of errors or without.
func TestHostile(t *testing.T) {
	const head = "algorithm x(ranks = 2)\ncollective allreduce(ranks, inplace = true)\n"
	rep := strings.Repeat
	chain := func(n int, def func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(def(i))
		}
		return b.String()
	}
	lim := syntax.Limits{Steps: 10_000_000, Ops: 800_000, Cells: 8_000_000} // a tenth of the usual, for slow machines
	files := map[string]string{
		"parentheses": head + "let x = " + rep("(", 499) + "1" + rep(")", 499) + "\n",
		"too many":    head + "let x = " + rep("(", 300000) + "1" + rep(")", 300000) + "\n",
		"unclosed":    head + rep("let x = (1 + [\n", 60000),
		"blocks":      head + rep("if true {\n", 498) + "let x = 1\n" + rep("}\n", 498),
		"else":        head + "if false { }" + rep(" else if false { }", 5000) + "\n",
		"minus":       head + "let x = " + rep("-", 500) + "1\n",
		"comments":    head + "let x = 1 +\n" + rep("#\n", 100000) + "2\n",
		"empty lines": rep("\n", 200000) + head,
		"statements":  head + rep("x = 1\n", 10000),
		"wrong lines": head + rep("x = = 1\n", 20000),
		"wrong block": head + "if true {\n" + rep("x = = 1\n", 20000) + "}\n",
		"undefined": head +
			chain(3000, func(i int) string { return fmt.Sprintf("let aaaaaaaaaaaaaaa%d = bbbbbbbbbbbbbbbb%d\n", i, i) }),
		"strings": head + chain(6000, func(i int) string { return fmt.Sprintf("let a%d = \"%d\"\n", i, i) }),
		"quotes":  head + rep("\"", 900001),
		"call chain": head + "def f0(a) = a\n" +
			chain(490, func(i int) string { return fmt.Sprintf("def f%d(a) = f%d(a)\n", i+1, i) }) + "let x = f490(1)\n",
		"calls too deep": head + "def f0(a) = a\n" +
			chain(3000, func(i int) string { return fmt.Sprintf("def f%d(a) = f%d(a)\n", i+1, i) }),
		"defined last": head + chain(3000, func(i int) string { return fmt.Sprintf("def f%d(a) = f%d(a)\n", i, i+1) }) +
			"def f3000(a) = a\n",
		"calls twice": head + "def f0(a) = a\n" + chain(60,
			func(i int) string { return fmt.Sprintf("def f%d(a) = f%d(a) + f%d(a)\n", i+1, i, i) }) + "let x = f60(1)\n",
		"calls thrice": head + "def f0(a) { }\n" +
			chain(60, func(i int) string { return fmt.Sprintf("def f%d(a) {\nf%d(a)\nf%d(a)\n}\n", i+1, i, i) }) + "f60(1)\n",
		"loops": head + rep("for i in 0..1000 {\n", 40) + rep("}\n", 40),
		"iterators": head + "for " + chain(3000, func(i int) string { return fmt.Sprintf("i%d in 0..1,", i) }) +
			"i in 0..2 { }\n",
		"text in a loop": head + "for i in 0..1G {\n" + rep("assert(true, \"\")\n", 3000) + "}\n",
		"lists of lists": head + "let l = [1]\nfor i in 0..1G { l = [l, l] }\n",
		"doubling":       head + "let l = [1]\nfor i in 0..64 { l = l + l }\n",
		"many lists":     head + "let l = [1]\nfor i in 0..1000 { let m = [x for x in 0..100K] }\n",
		"sum of itself":  head + "for i in 0..64 { chunk(0, input, 0).reduce(chunk(0, input, 0)) }\n",
		"deep sum": head +
			"for i in 0..1M { chunk(0, input, 0).reduce(chunk(1, input, 0)) }\nchunk(0, input, 0).copy(1)\n",
		"operations":   head + "for i in 0..1G { chunk(0, input, 0).copy(1) }\n",
		"large copies": "algorithm x()\ncollective allreduce(2, chunks = 1M)\nfor i in 0..1G { chunk(0, input, 0, 1M).copy(1, output, 0) }\n",
		"cells":        "algorithm x()\ncollective alltoall(9000)\n",
		"ranks":        "algorithm x()\ncollective broadcast(2_000_000)\n",
		"scratches":    head + chain(300, func(i int) string { return fmt.Sprintf("scratch s%d[1]\n", i) }),
		"faults":       head + "for i in 0..1G { let x = 1 / 0 }\n",
		"more faults":  head + "for i in 0..1G { let x = chunk(i, input, i) }\n",
		"requires":     "algorithm x()\ncollective custom(1000, 1000, 1000) { for i in 0..1000, j in 0..1000, k in 0..1000 { require chunk(i, output, j) == sum([chunk(k, input, 0)]) } }\n",
		"arguments":    head + "let x = min(" + rep("1,", 20000) + ")\n",
		"elements":     head + "let x = [" + rep("1,", 20000) + "]\n",
		"index":        head + "let x = x" + rep("[0]", 400) + "\n",
		"parts":        head + rep("parallelize(2) { ", 60) + rep("}", 60) + "\n",
		"names":        "algorithm " + rep("x", 900000) + "()\ncollective allreduce(2)\nlet y = z\n",
		"ands":         head + "let x = true" + rep(" && true", 500) + "\n",
	}
	for name, src := range files {
		t.Run(name, func(t *testing.T) {
			if len(src) > 1<<20 {
				t.Fatalf("%d bytes: the file is refused for its size", len(src))
			}
			start := time.Now()
			f, err := syntax.ParseLimited("x.mscl", []byte(src), lim)
			parsed := time.Since(start)
			if err == nil {
				if _, err = Expand(f, Options{Limits: lim}); err == nil {
					_, err = syntax.Format("x.mscl", []byte(src))
				}
			}
			said := "fine"
			if err != nil {
				checkErrors(t, err)
				said = err.Error()
			}
			if took := time.Since(start); took > time.Minute {
				t.Errorf("%v is too long", took)
			}
			t.Logf("parsed in %v, all in %v: %.150s", parsed.Round(time.Millisecond),
				time.Since(start).Round(time.Millisecond), said)
		})
	}
}
