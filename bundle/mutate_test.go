package bundle

import (
	"bytes"
	"errors"
	"math/rand"
	"slices"
	"testing"

	"mscclc/executor/data"
	"mscclc/internal/covering"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/selection"
)

// short returns a bundle of few programs, whose images are short.
func short(t testing.TB) []byte {
	rules := slices.DeleteFunc(Ladder(2, DefaultCTAs), func(r Rule) bool {
		return r.Protocol != ir.LL || r.Kind != ir.AllReduce && r.Kind != ir.Broadcast
	})
	windows := Forward(ir.AllGather, 2)
	windows.When, windows.Program, windows.Placement = windows.When|WhenWindows, "allgather/allpairs", selection.Direct
	over := Forward(ir.AllReduce, 2)
	over.Nodes, over.Program, over.Tile = "2", "allreduce/ring", 4096
	rules = append(rules, windows, over)
	b, err := Build(Spec{Device: "NVIDIA H200", Ranks: []int{2}, DTypes: []data.DType{data.F16}, Rules: rules,
		Own: ownNamed(), Named: namedSpecs[:2]})
	if err != nil {
		t.Fatal(err)
	}
	for i := range b.Images {
		b.Images[i].Code = []byte("code\x00")
	}
	return Encode(b)
}

// TestMutations changes bundles at random: Decode returns errors, and never panics. Where the hashes are made right
// again, Decode may take what Verify then judges: it rejects changed programs.
func TestMutations(t *testing.T) {
	rnd := rand.New(rand.NewSource(1))
	small := short(t)
	h, parts, err := sections(small)
	if err != nil {
		t.Fatal(err)
	}
	good, err := Decode("x", small)
	if err != nil {
		t.Fatal(err)
	}
	tried, refused, rejected := covering.Share(10000), 0, 0
	for i := range tried {
		var text []byte
		kind := uint32(0)
		if i%2 == 0 {
			text = mutate(rnd, bytes.Clone(small))
		} else {
			k := rnd.Intn(len(parts))
			changed := slices.Clone(parts)
			changed[k].bytes = mutate(rnd, bytes.Clone(parts[k].bytes))
			if kind = parts[k].kind; bytes.Equal(changed[k].bytes, parts[k].bytes) {
				kind = 0
			}
			if rnd.Intn(8) == 0 {
				changed = slices.Delete(changed, k, k+1)
			}
			text = assemble(h.ABI, changed)
		}
		if b, err := Decode("x", text); err != nil {
			refused++
		} else if i%2 == 0 && b.ABI == h.ABI && !bytes.Equal(text, small) { // that of the kernel is Verify's to judge
			t.Fatalf("mutation %d is taken", i)
		} else if i%16 == 1 {
			_, _, err := Verify("x", text) // which says of the image that it is another, too
			var found diag.List
			if errors.As(err, &found); len(found) > 1 {
				rejected++
			} else if kind == sectionProgram && titles(b) != titles(good) {
				continue // a name is for readers
			} else if kind == sectionSource || kind == sectionWhere || kind == sectionProgram || kind == sectionNet ||
				kind == sectionNamed && named(b) == named(good) {
				t.Errorf("mutation %d of section %d is taken", i, kind)
			}
		}
	}
	t.Logf("%d of %d mutations are refused; %d of others are not proven", refused, tried, rejected)
	if refused < tried/10*7 || refused == tried || rejected < tried/200 {
		t.Error("too few mutations are read, or refused")
	}
}

func named(b *Bundle) (list string) {
	for _, p := range b.Programs {
		if p.Named != nil {
			list += p.Named.Name + ","
		}
	}
	return list
}

func titles(b *Bundle) (list string) {
	for _, p := range b.Programs {
		list += string(p.Name[:])
	}
	return list
}

// mutate changes some bytes of b, cuts it or makes it longer.
func mutate(rnd *rand.Rand, b []byte) []byte {
	for range 1 + rnd.Intn(4) {
		if len(b) == 0 {
			return []byte{byte(rnd.Int())}
		}
		at := rnd.Intn(len(b))
		switch rnd.Intn(6) {
		case 0:
			b = b[:at]
		case 1:
			b = append(b, b[at:]...)
		case 2:
			b[at] = 0xff
		default:
			b[at] ^= 1 << rnd.Intn(8)
		}
	}
	return b
}

// FuzzDecode reads any bytes, and bundles of sections whose hashes are right.
func FuzzDecode(f *testing.F) {
	good := short(f)
	h, parts, err := sections(good)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good, uint16(0), []byte{})
	for i := range parts {
		f.Add([]byte{}, uint16(i), parts[i].bytes)
	}
	f.Fuzz(func(t *testing.T, whole []byte, k uint16, body []byte) {
		Decode("x", whole)
		changed := slices.Clone(parts)
		changed[int(k)%len(parts)].bytes = body
		text := assemble(h.ABI, changed)
		if b, err := Decode("x", text); err == nil && !bytes.Equal(Encode(b), text) {
			t.Error("read other things than written")
		}
	})
}
