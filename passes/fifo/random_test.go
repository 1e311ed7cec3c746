package fifo

import (
	"flag"
	"fmt"
	"math/rand"
	"testing"

	"mscclc/ir"
	"mscclc/ir/irtest"
	"mscclc/ir/property"
	"mscclc/ir/verify"
)

var programs = flag.Int("programs", 3000, "random programs to compile")

// randomOptions turns passes off, and asks for instances and slots, at random.
func randomOptions(rnd *rand.Rand) Options {
	opt := Options{Instances: 1 + rnd.Intn(3)*rnd.Intn(2), Seed: rnd.Int63(), Off: map[string]bool{}}
	for _, p := range Table {
		if !p.Required && rnd.Intn(4) == 0 {
			opt.Off[p.Name] = true
		}
	}
	opt.Level0 = rnd.Intn(10) == 0
	opt.Slots = rnd.Intn(3) // 0: the protocol's own
	if rnd.Intn(4) == 0 {
		opt.Limits = ir.Limits{Target: "test", Count: 1 + rnd.Intn(4), Channels: 2, ReceiveFused: rnd.Intn(2) == 0}
		if rnd.Intn(4) == 0 {
			opt.Limits.Blocks = 2 + rnd.Intn(6)
		}
		if rnd.Intn(2) == 0 {
			opt.Limits.Channels, opt.Limits.Peers, opt.Limits.Steps = 1+rnd.Intn(8), rnd.Intn(3), 4+rnd.Intn(8)
		}
	}
	if rnd.Intn(4) == 0 {
		opt.Dense, opt.Limits.MaxBytes = true, 1<<(10+rnd.Intn(20))
	} else if rnd.Intn(2) == 0 {
		opt.Limits.MaxBytes = 1 << 10 // for which aggregate merges
	}
	return opt
}

// checked makes Run check every property after every pass, and from order on
// prove what the program has become.
func checked(opt Options, d *ir.InstDAG) Options {
	slots := opt.Slots
	if slots == 0 {
		slots = d.Protocol.Slots()
	}
	opt.Check = func(pass string, d *ir.InstDAG, have property.Property) error {
		limits := opt.Limits
		if pass != "fit" {
			limits = ir.Limits{}
		}
		least := int(messageChunks(d, opt))
		if have&property.Live != 0 { // what is live is live where messages hold more
			if err := property.Check(d, property.Live, property.Options{Slots: slots, MessageCount: least + 1}); err != nil {
				return err
			}
		}
		if err := property.Check(d, have, property.Options{Slots: slots, MessageCount: least, Limits: limits}); err != nil ||
			have&property.Ordered == 0 {
			return err
		}
		return proved(d, have, verify.Options{Slots: slots, MessageChunks: least})
	}
	return opt
}

// TestRandom compiles random legal programs under random settings, and checks
// after every pass all that should hold.
func TestRandom(t *testing.T) {
	refused := 0
	for seed := range *programs {
		rnd := rand.New(rand.NewSource(int64(seed)))
		c := irtest.Random(rnd, irtest.Config{})
		opt := randomOptions(rnd)
		if err := compile(c, opt); err != nil {
			if fmt.Sprint(err) == "refused" {
				refused++
				continue
			}
			t.Fatalf("seed %d, options %+v: %v", seed, opt, err)
		}
	}
	t.Logf("%d programs, %d refused for a limit", *programs, refused)
	if refused > *programs/5 {
		t.Errorf("too many were refused to test anything")
	}
}

func compile(c *ir.ChunkDAG, opt Options) error {
	d, err := Lower(c, opt)
	if err != nil {
		return fmt.Errorf("lower: %w", err)
	}
	err = Run(d, checked(opt, d))
	if err != nil && isLimit(err) {
		return fmt.Errorf("refused")
	}
	return err
}
