package passes

import (
	"bytes"
	"math/rand"
	"testing"

	"mscclc/ir"
	"mscclc/ir/irtest"
	"mscclc/ir/verify"
)

// lowered lowers c and checks what comes out.
func lowered(c *ir.ChunkDAG) (*ir.Program, error) {
	p, err := LowerOneSided(c, Options{})
	if err != nil {
		return nil, err
	}
	if err := ir.EvalOneSided(p).Err(); err != nil {
		return p, err
	}
	_, list := verify.Check(p, verify.Options{})
	return p, list.Err()
}

func text(p *ir.Program) string {
	var b bytes.Buffer
	ir.WriteProgram(&b, p)
	return b.String()
}

// TestOneSidedCatalog lowers every program of the catalog and of the examples,
// in every form, in and out of place, and asks for its proof.
func TestOneSidedCatalog(t *testing.T) {
	n := 0
	for _, file := range catalog(t) {
		t.Run(file.name, func(t *testing.T) {
			for _, shape := range []string{"2 1 2", "3 1 3", "4 2 2", "6 3 2", "8 2 4", "16 2 8"} {
				for _, inplace := range []bool{false, true} {
					c := file.expand(t, shape, inplace)
					if c == nil {
						continue
					}
					for _, protocol := range []ir.Protocol{ir.Simple, ir.LL} {
						c.Protocol = protocol
						p, err := lowered(c)
						if err != nil {
							t.Fatalf("%s, in place %v, %v: %v\n%.5000s", shape, inplace, protocol, err, text(p))
						}
						n++
					}
				}
			}
		})
	}
	t.Logf("%d programs", n)
}

// TestOneSidedRandom lowers random legal programs, and asks for their proofs.
func TestOneSidedRandom(t *testing.T) {
	for seed := range irtest.Count(t, 2000) {
		rnd := rand.New(rand.NewSource(int64(seed)))
		c := irtest.Random(rnd, irtest.Config{})
		c.Protocol = ir.Protocol(rnd.Intn(int(ir.NumProtocols)))
		if p, err := lowered(c); err != nil {
			var b bytes.Buffer
			ir.WriteChunks(&b, c)
			t.Fatalf("seed %d: %v\n%s\n%s", seed, err, b.String(), text(p))
		}
	}
}
