package lang

import (
	"errors"
	"io/fs"
	"math/rand"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mscclc/internal/covering"
	"mscclc/ir/diag"
	"mscclc/ir/eval"
	"mscclc/ir/form"
	"mscclc/lang/langtest"
	"mscclc/lang/syntax"
)

// seed adds every program and every error case.
func seed(f *testing.F) {
	for _, name := range langtest.Programs(f, "..") {
		src, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(src))
	}
	for _, name := range langtest.ChannelFiles(f, "..") {
		src, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(src))
	}
	for _, c := range errorCases(f) {
		f.Add(c.src)
	}
}

// small are limits under which any file is done in no time.
var small = syntax.Limits{Steps: 20_000, Ops: 1000, Cells: 10_000, File: 1 << 16, List: 1000, Nesting: 60, Parts: 64}

// checkErrors sees that an error is a list of diagnostics that point somewhere.
func checkErrors(t *testing.T, err error) {
	var list diag.List
	if !errors.As(err, &list) || len(list) == 0 || len(list) > syntax.MaxErrors {
		t.Fatalf("%v is no list of 1 to %d errors", err, syntax.MaxErrors)
	}
	for _, d := range list {
		if d.Span.Line < 1 || d.Span.Column < 1 || d.Span.Len < 0 || d.Code == "" || d.Text == "" {
			t.Fatalf("%+v lacks something", d)
		}
	}
}

func FuzzParse(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, src string) {
		file, err := syntax.ParseLimited("x.mscl", []byte(src), small)
		if err != nil {
			checkErrors(t, err)
			return
		}
		file.Info()
	})
}

func FuzzFormat(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, src string) {
		if _, err := syntax.ParseLimited("x.mscl", []byte(src), small); err == nil {
			langtest.CheckFormat(t, "x.mscl", []byte(src))
		}
	})
}

func FuzzExpand(f *testing.F) {
	seed(f)
	none := func(string) ([]byte, error) { return nil, fs.ErrNotExist }
	f.Fuzz(func(t *testing.T, src string) {
		file, err := syntax.ParseLimited("x.mscl", []byte(src), small)
		if err != nil {
			return
		}
		for _, inplace := range []*bool{nil, new(false), new(true)} {
			d, err := ExpandLevel(file, Options{Open: none, Limits: small, Inplace: inplace})
			if err != nil {
				checkErrors(t, err)
				continue
			}
			if d.Channels != nil {
				checkChannels(t, d.Channels)
				continue
			}
			if errs := eval.Chunks(d.Chunks); len(errs) > 0 {
				t.Fatalf("%v", errs)
			}
		}
	})
}

// TestMutations does what the fuzzers do with whole tokens: it takes, doubles,
// swaps and replaces some of every program's, so that more of what comes out
// gets past the parser.
func TestMutations(t *testing.T) {
	rounds := covering.Share(25)
	if n, err := strconv.Atoi(os.Getenv("MSCCLC_ROUNDS")); err == nil {
		rounds = n
	}
	var files [][]string
	var pool []string
	add := func(src string) {
		tokens := tokensOf(src)
		files = append(files, tokens)
		pool = append(pool, tokens...)
	}
	for _, name := range append(langtest.Programs(t, ".."), langtest.ChannelFiles(t, "..")...) {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		add(string(src))
	}
	for _, c := range errorCases(t) {
		add(strings.TrimLeft(c.src, "\n"))
	}
	open := func(path string) ([]byte, error) {
		return os.ReadFile("../algorithms/allreduce/" + filepath.Base(path))
	}
	parsed, expanded := 0, 0
	for seed := range int64(rounds * len(files)) {
		rnd := rand.New(rand.NewSource(seed))
		src := mutate(rnd, files[int(seed)%len(files)], pool)
		file, err := syntax.ParseLimited("x.mscl", []byte(src), small)
		if err != nil {
			checkErrors(t, err)
			continue
		}
		parsed++
		if rnd.Intn(8) == 0 {
			langtest.CheckFormat(t, "x.mscl", []byte(src))
		}
		for _, inplace := range []*bool{nil, new(rnd.Intn(2) == 0)} {
			x, err := ExpandLevel(file, Options{Open: open, Limits: small, Inplace: inplace})
			if err != nil {
				checkErrors(t, err)
				continue
			}
			expanded++
			if x.Channels != nil {
				checkChannels(t, x.Channels)
				continue
			}
			d := x.Chunks
			if errs := append(form.CheckChunks(d), eval.Chunks(d)...); len(errs) > 0 {
				t.Fatalf("%v\n%s", errs, src)
			}
		}
	}
	t.Logf("%d files parsed, %d expanded", parsed, expanded)
	if parsed < 10*rounds || expanded < 3*rounds {
		t.Errorf("only %d files parsed and %d expanded", parsed, expanded)
	}
}

// tokens are the words, numbers, strings, comments, newlines and operators of a file, roughly.
var tokens = regexp.MustCompile(`[A-Za-z_]\w*|\d\w*|"[^"\n]*"|#[^\n]*|\n|\.\.|[-+*/%=<>!]=|\S`)

func tokensOf(src string) []string { return tokens.FindAllString(src, -1) }

// kindOf returns a letter for words, a digit for numbers, an operator for all operators, and else the first character.
func kindOf(token string) byte {
	switch c := token[0]; {
	case c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z':
		return 'a'
	case '0' <= c && c <= '9':
		return '0'
	case strings.IndexByte("\n\"#()[]{}", c) >= 0:
		return c
	}
	return '+'
}

func mutate(rnd *rand.Rand, tokens, pool []string) string {
	list := slices.Clone(tokens)
	for range 1 + rnd.Intn(3) {
		if len(list) == 0 {
			break
		}
		at := rnd.Intn(len(list))
		switch rnd.Intn(6) {
		case 0:
			list = slices.Delete(list, at, at+1)
		case 1:
			list = slices.Insert(list, at, list[at])
		case 2:
			other := rnd.Intn(len(list))
			list[at], list[other] = list[other], list[at]
		case 3: // the same kind of token keeps the syntax
			for range 50 {
				if x := pool[rnd.Intn(len(pool))]; kindOf(x) == kindOf(list[at]) {
					list[at] = x
					break
				}
			}
		case 4:
			for range 50 {
				if other := rnd.Intn(len(list)); kindOf(list[other]) == kindOf(list[at]) {
					list[at] = list[other]
					break
				}
			}
		case 5:
			if kindOf(list[at]) == '0' {
				list[at] = []string{"0", "1", "2", "3", "7", "64", "1K", "9223372036854775807"}[rnd.Intn(8)]
			}
		}
	}
	return strings.ReplaceAll(strings.Join(list, " "), "\n ", "\n")
}
