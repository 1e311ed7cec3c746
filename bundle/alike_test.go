package bundle

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mscclc/executor/data"
	"mscclc/internal/covering"
	"mscclc/ir"
	"mscclc/ir/irtest"
	"mscclc/kernels"
	library "mscclc/runtime"
	"mscclc/selection"
)

// A reader is the library's reader of bundles in a process of its own, under sanitizers.
type reader struct {
	in  io.Writer
	out *bufio.Reader
}

// newReader builds and starts a reader, which ends with the test.
func newReader(t *testing.T) *reader {
	t.Helper()
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip("there is no g++")
	}
	dir := t.TempDir()
	tree, file := filepath.Join(dir, "sources"), filepath.Join(dir, "reader")
	if err := library.Write(tree); err != nil {
		t.Fatal(err)
	}
	units := []string{"why.cc", "sha256.cc", "launch/layout.cc", "transport/system.cc"}
	sanitize := []string{"-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-O1", "-Wall", "-Wextra", "-Werror"}
	objects, err := library.Compile(tree, filepath.Join(dir, "objects"), func(name string) bool {
		return strings.HasPrefix(name, "bundle/") || slices.Contains(units, name)
	}, sanitize...)
	if err != nil {
		t.Fatal(err)
	}
	flags := append([]string{"-std=c++17", "-I" + filepath.Join(tree, "runtime", "src"),
		filepath.Join("testdata", "reader.cc"), "-lstdc++", "-lm"}, sanitize...)
	if err := library.Link(file, objects, flags...); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(file)
	cmd.Env, cmd.Stderr = append(os.Environ(), "ASAN_OPTIONS=allocator_may_return_null=1"), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the library's reader: %v", err)
		}
	})
	return &reader{in, bufio.NewReader(out)}
}

// read has the library read a bundle. It returns "" or why the library refuses it.
func (r *reader) read(t *testing.T, text []byte) string {
	t.Helper()
	frame := append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	if _, err := r.in.Write(frame); err != nil {
		t.Fatal(err)
	}
	line, err := r.out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(strings.TrimSpace(strings.TrimPrefix(line, "ok")), "no ")
}

// readGo has Decode read a bundle. Bundles for other kernels are the library's to refuse, and Verify's.
func readGo(text []byte) string {
	b, err := Decode("x", text)
	if err == nil && b.ABI != kernels.Hash() {
		err = fmt.Errorf("it is for other kernels")
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// alikeBundles returns bundles with all that a bundle may have, whose images are short: roots, windows, several nodes,
// several lanes, replicas that share CTAs, names, and epilogues.
func alikeBundles(t *testing.T) [][]byte {
	t.Helper()
	windows := Forward(ir.AllGather, 2)
	windows.When, windows.Program, windows.Placement, windows.Tile = windows.When|WhenWindows, "allgather/allpairs", selection.Direct, 4096
	root := Forward(ir.Scatter, 2)
	root.Program, root.Protocol, root.Replicas, root.Tile = "scatter/direct", ir.LL, 2, 256
	small := Forward(ir.AllReduce, 2)
	small.Program, small.Protocol, small.UpTo, small.Threads = "allreduce/onephase", ir.LL, 4096, 64
	even := Forward(ir.AllToAll, 4)
	even.Program, even.Tile, even.Calls = "alltoall/one_step", 1024, 3
	over := Forward(ir.AllGather, 4)
	over.Nodes, over.Program, over.Tile, over.Lanes, over.Together = "2", "allgather/multinode_allpairs", 4096, 4, 4
	other := Forward(ir.ReduceTo, 4)
	other.Nodes, other.Program, other.Tile, other.Root = "1,3", "reduce/direct", 4096, 1
	var list [][]byte
	for _, spec := range []Spec{
		{Ranks: []int{2}, Rules: []Rule{windows, root, small, Forward(ir.AllReduce, 2)}},
		{Ranks: []int{4}, Rules: []Rule{over, other}},
		{Ranks: []int{3}, Rules: []Rule{Forward(ir.AllReduce, 3)}, Own: ownNamed(), Named: namedSpecs, CTAs: 2},
		{Ranks: []int{2, 4}, Rules: []Rule{small, even}},
		{Ranks: []int{2}, Rules: thenSpec(t, "residual, activation(relu), quantise(i8, block = 8)").Rules},
	} {
		spec.Device, spec.DTypes = "NVIDIA H200", []data.DType{data.F16, data.E4M3}
		b, err := Build(spec)
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Images {
			b.Images[i].Code = []byte("code\x00")
		}
		list = append(list, Encode(b))
	}
	return list
}

// TestAlike: Decode and the library take the same bundles.
func TestAlike(t *testing.T) {
	r := newReader(t)
	t.Run("changed", func(t *testing.T) { testChanged(t, r) })
	t.Run("limits", func(t *testing.T) { testLimits(t, r) })
	t.Run("wide", func(t *testing.T) { testWide(t, r) })
}

// testChanged has both read thousands of bundles that were changed. Checksums are right in all but those in which they
// were what was changed. Each field of each row is changed equally often.
func testChanged(t *testing.T, r *reader) {
	rnd := rand.New(rand.NewSource(34 + int64(irtest.First(t))))
	var all []*changer
	for _, text := range alikeBundles(t) {
		if why := readGo(text) + r.read(t, text); why != "" {
			t.Fatalf("a bundle that was not changed: %s", why)
		}
		all = append(all, newChanger(t, rnd, text))
	}
	fields := fieldsOf(t, all)
	bundles := covering.Share(10000)
	taken, differ := 0, 0
	takenOf := map[string]int{}
	for i := range bundles {
		field := fields[i%len(fields)]
		text := field.change(rnd)
		inGo, inC := readGo(text), r.read(t, text)
		if inGo == "" && inC == "" {
			taken++
			takenOf[field.name]++
		} else if (inGo == "") != (inC == "") {
			if differ++; differ <= 40 {
				t.Errorf("bundle %d, %s was changed: Decode says %q, and the library %q", i, field.name, inGo, inC)
			}
		}
	}
	t.Logf("%d fields, %d of %d bundles are taken, %d differ; taken: %v", len(fields), taken, bundles, differ, takenOf)
	if taken < bundles/10 || taken > bundles*9/10 {
		t.Errorf("%d of %d bundles are taken", taken, bundles)
	}
	if differ > 0 {
		t.Errorf("%d bundles are taken by one reader and not by the other", differ)
	}
	if bytes.Equal(all[0].text, all[1].text) {
		t.Error("the bundles are the same")
	}
}
