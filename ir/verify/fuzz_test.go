package verify_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"mscclc/codegen"
	"mscclc/codegen/msccl"
	programfile "mscclc/codegen/program"
	"mscclc/executor"
	"mscclc/executor/cpu"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/bitwise"
	"mscclc/ir/either"
	"mscclc/ir/irtest"
	"mscclc/ir/verify"
)

// FuzzXML reads XML, edited in a few numbers and names besides what the fuzzer
// does to its bytes, and judges it. What is accepted stays accepted as a plan
// and with more slots, and small programs run on the CPU and must be right. Ten
// minutes of it:
//
//	go test ./ir/verify -run XXX -fuzz FuzzXML -fuzztime 10m -fuzzminimizetime 5x
func FuzzXML(f *testing.F) {
	for _, src := range fuzzSeeds(f) {
		f.Add(src, []byte(nil))
		f.Add(src, []byte{3, 1, 4, 1, 5, 9})
	}
	f.Fuzz(func(t *testing.T, src, edits []byte) {
		if len(src) <= 1<<14 && len(edits) <= 60 {
			judgeFuzzed(t, fuzzed(src, edits))
		}
	})
}

// TestFuzzedFiles does to the seeds what FuzzXML would, at random.
func TestFuzzedFiles(t *testing.T) {
	seeds, rnd := fuzzSeeds(t), rand.New(rand.NewSource(1))
	read, good := 0, 0
	for range 2000 {
		edits := make([]byte, 3*(1+rnd.Intn(2)))
		rnd.Read(edits)
		r, g := judgeFuzzed(t, fuzzed(seeds[rnd.Intn(len(seeds))], edits))
		if r {
			read++
		}
		if g {
			good++
		}
	}
	t.Logf("of 2000 edited files %d were read, and %d of those accepted and run", read, good)
	if read < 200 || good < 100 {
		t.Error("too few to say anything")
	}
}

// judgeFuzzed reads and judges a file, and puts what is accepted to the test.
func judgeFuzzed(t *testing.T, text []byte) (read, good bool) {
	p, err := msccl.Read("fuzz.xml", bytes.NewReader(text), codegen.ReadOptions{MaxCells: 1 << 12, MaxMoved: 1 << 12})
	if err != nil {
		return false, false
	}
	_, list := verify.Check(either.OfFifo(p), verify.Options{MessageChunks: 1})
	if len(list) > 0 {
		return true, false
	}
	again, err := programfile.Decode("fuzz.mprog", programfile.Encode(either.OfFifo(p)), codegen.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, list := verify.Check(again, verify.Options{Slots: 2 * p.Protocol.Slots(), MessageChunks: 1}); len(list) > 0 {
		t.Fatalf("with more slots: %s", irtest.Text(list))
	}
	order := bitwise.OrderOf(either.OfFifo(p))
	for _, d := range order.Counterexample {
		if d != nil && d.Expr[0] == d.Expr[1] {
			t.Errorf("sums that differ look alike: %+v", d)
		}
	}
	if p.Coll.Ranks <= 16 && len(p.Blocks) <= 64 {
		runFuzzed(t, either.OfFifo(p))
	}
	return true, true
}

// fuzzSeeds returns the small files of the repository and of other compilers.
func fuzzSeeds(f testing.TB) [][]byte {
	names, err := filepath.Glob("../../codegen/msccl/testdata/*.xml")
	if err != nil || len(names) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	var seeds [][]byte
	for _, name := range append(names, irtest.Files(f, irtest.XML)...) {
		src, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		if len(src) < 1<<13 {
			seeds = append(seeds, src)
		}
	}
	return seeds
}

var attribute = regexp.MustCompile(`([a-z_]+)="([^"]*)"`)

// fuzzed changes some attributes of src: each three bytes of edits say which,
// and how.
func fuzzed(src, edits []byte) []byte {
	for ; len(edits) >= 3; edits = edits[3:] {
		all := attribute.FindAllSubmatchIndex(src, -1)
		if len(all) == 0 {
			return src
		}
		at := all[(int(edits[0])<<8|int(edits[1]))%len(all)]
		value := fuzzedValue(string(src[at[2]:at[3]]), string(src[at[4]:at[5]]), int(edits[2]))
		src = append(append(bytes.Clone(src[:at[4]]), value...), src[at[5]:]...)
	}
	return src
}

func fuzzedValue(name, old string, how int) string {
	switch name {
	case "type":
		return ir.Op(how % int(ir.Move)).String()
	case "srcbuf", "dstbuf":
		return string("ios"[how%3])
	case "proto":
		return []string{"Simple", "LL", "LL128"}[how%3]
	}
	n, err := strconv.Atoi(old)
	if err != nil || name == "s" || name == "id" {
		return old
	}
	if name == "hasdep" || name == "inplace" {
		return strconv.Itoa(1 - n)
	}
	return strconv.Itoa(n + how%5 - 2)
}

// runFuzzed runs p on integers, with messages of one chunk.
func runFuzzed(t *testing.T, p *either.Program) {
	l, err := executor.Load(p, executor.Options{Device: cpu.Device(), Unproven: true})
	if errors.Is(err, executor.ErrNotSupported) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	elems := int64(3 * p.Coll.Chunks)
	buffers := data.New(data.NewGeometry(p.Coll, elems, 4), data.I32, data.Sum, 1)
	args := executor.DataArgs(buffers)
	args.Wait, args.Threads, args.SlotBytes = 30*time.Second, 1, 16
	if _, err := l.Run(context.Background(), args); err != nil {
		t.Fatal(err)
	}
	if err := buffers.Check(); err.Err() != nil && !p.ModifiesInput() {
		t.Fatal(err.Err())
	}
}
