package onesided

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"mscclc/executor/launch"
	"mscclc/ir"
	"mscclc/simulate/devices"
	"mscclc/simulate/internal/network"
)

// leastThreads is what a CTA has at least where all of a launch would have no room with more.
const leastThreads = 64

// width settles replicas, threads and passes: as the executor chooses them where nothing says.
func (o *Blocks) width() error {
	replicas, worth := o.call.Replicas, float64(launch.ReplicaBytes)
	for i := range o.program.Operands {
		if o.program.Operands[i].Via == ir.ViaPort {
			worth = launch.PortBytes
		}
	}
	if replicas <= 0 {
		replicas = int(min(max(o.Chunk/worth, 1), launch.UsualReplicas))
		if blocks := o.blocksOfRank(); blocks > 1 && o.Costs.OneSided.Resident > 0 && !o.program.OnePass {
			replicas = min(replicas, max(1, int(o.most(o.Costs.OneSided.Threads))/blocks)) // there is memory for
		}
	}
	tile := float64(o.call.Tile)
	if tile <= 0 {
		tile = launch.PlanTile
		if worth == launch.PortBytes &&
			!slices.ContainsFunc(o.program.Packets, func(n int32) bool { return n > 0 }) {
			tile = math.Inf(1)
		}
	}
	if o.program.OnePass {
		tile = math.Inf(1)
	}
	replicas, threads, err := o.fit(replicas)
	replicas, tile = o.wholeRows(replicas, tile)
	o.replicas, o.rate = float64(replicas), math.Pow(float64(threads)/float64(o.Costs.OneSided.Threads), 0.7)
	o.whole = tile*o.replicas <= o.Chunk
	o.Share, o.Tile = o.Chunk, min(max(o.Chunk, 1), tile*o.replicas)
	o.Passes = int64(math.Ceil(o.Share / o.Tile))
	return err
}

// wholeRows returns how many replicas have rows, and the tile, where a program finishes rows: a replica has whole rows,
// and so has its tile.
func (o *Blocks) wholeRows(replicas int, tile float64) (some int, whole float64) {
	if len(o.program.Then) == 0 {
		return replicas, tile
	}
	row := float64(o.call.Row)
	each, with := launch.RowsOf(uint64(o.Chunk/row), uint64(replicas))
	o.rows = float64(each)
	return int(with), min(max(math.Floor(tile/row), 1), float64(each)) * row
}

// apart has ranks share memory of the host, where the packets of all blocks of a rank are read one after the other.
func (o *Blocks) apart(c *devices.ApartCosts) {
	o.late = c.Await
	if ctas := o.rate * o.replicas * float64(o.blocksOfRank()); c.Packets > 0 && ctas > 0 {
		o.cost.Block = min(o.cost.Block, c.Packets/ctas)
	}
}

// fit returns how many replicas and threads a launch has that would have a given number of replicas. All its CTAs must
// be resident, since they wait for each other. So they have fewer threads where there are many, and where that is not
// enough there are fewer replicas, unless the call says how many.
func (o *Blocks) fit(replicas int) (fewer, threads int, err error) {
	first, last := o.Costs.OneSided.Threads, min(leastThreads, o.Costs.OneSided.Threads)
	if o.Costs.OneSided.Shares {
		last = max(last, 32*o.program.Shared())
	}
	if o.call.Threads > 0 {
		first, last = o.call.Threads, o.call.Threads
	}
	for {
		for threads = first; threads >= last; threads /= 2 {
			if o.resident(o.ctas(replicas), threads) {
				return replicas, threads, nil
			}
		}
		if o.call.Replicas > 0 || replicas == 1 {
			return 0, 0, &noCTAs{ctas: o.ctas(replicas), threads: last, resident: o.most(last)}
		}
		replicas = (replicas + 1) / 2
	}
}

// most returns how many CTAs of a given number of threads a GPU holds at once.
func (o *Blocks) most(threads int) float64 {
	return math.Floor(o.Costs.OneSided.Resident * float64(o.Costs.OneSided.Threads) / float64(threads))
}

func (o *Blocks) resident(ctas, threads int) bool {
	return o.Costs.OneSided.Resident == 0 || float64(ctas) <= o.most(threads)
}

// blocksOfRank returns how many blocks with steps the rank has that has most.
func (o *Blocks) blocksOfRank() int { return o.ofRank(func(*ir.TB) int { return 1 }) }

// ctas returns how many CTAs the blocks with steps have in a given number of replicas, of the rank that has most.
func (o *Blocks) ctas(replicas int) int {
	return o.ofRank(func(b *ir.TB) int {
		if o.Costs.OneSided.Shares {
			return b.CTAs(replicas)
		}
		return replicas
	})
}

// ofRank adds up what blocks with steps count, of the rank where that is most.
func (o *Blocks) ofRank(count func(*ir.TB) int) (most int) {
	for _, own := range o.program.Rank {
		n := 0
		for b := own.First; b < own.End; b++ {
			if tb := &o.program.Blocks[b]; tb.Steps.First < tb.Steps.End {
				n += count(tb)
			}
		}
		most = max(most, n)
	}
	return most
}

// ErrWide is part of the error where a launch has more CTAs than a GPU holds at once. It is a network.ErrNoWay.
var ErrWide = errors.New("the GPU does not hold this many CTAs")

// A noCTAs says that a launch has more CTAs than a GPU holds at once. It is an ErrWide.
type noCTAs struct {
	ctas, threads int
	resident      float64
}

func (e *noCTAs) Error() string {
	return fmt.Sprintf("a launch has %d CTAs of %d threads a GPU, which wait for each other, and a GPU holds %.0f at once",
		e.ctas, e.threads, e.resident)
}

func (e *noCTAs) Is(target error) bool { return target == network.ErrNoWay || target == ErrWide }
