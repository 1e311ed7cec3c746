// Package launches holds what the simulations of one-sided and of two-sided programs share. [Launches] are the
// simulated launches of one call. A [Sequence] starts a rank's next launch when the blocks of the launch before it have
// ended.
package launches

import (
	"math"
	"time"

	"mscclc/executor/launch"
	"mscclc/simulate/devices"
	"mscclc/simulate/internal/network"
)

// Launches are those of one call on one network that are simulated.
type Launches struct {
	Net   *network.Network
	Costs *devices.Costs
	Chunk float64       // bytes
	Trace *launch.Trace // nil where nobody asks

	// What the program's blocks settle from that.
	Share, Tile float64 // bytes of a chunk in all passes and in one, of all replicas
	Passes      int64   // of the launch

	// What the simulation settles then.
	Simulated int64 // of the passes, the first
	Repeated  int64 // launches

	// What blocks note meanwhile.
	Split  int64 // simulate.Result.Split
	AtOnce bool  // a rough simulation moved at once what others move in turns
}

// Bytes returns how much of a chunk a pass moves, in all replicas.
func (l *Launches) Bytes(pass int64) float64 {
	return max(0, min(l.Tile, l.Share-float64(float64(pass)*l.Tile)))
}

// Took records that a step took its time: its block came to it, began when it had what it waits for, and ended.
func (l *Launches) Took(step, replica int32, pass int64, message int32, came, began, end float64) {
	if l.Trace != nil && pass < l.Simulated && len(l.Trace.Spans) < 1<<20 {
		l.Trace.Spans = append(l.Trace.Spans, launch.Span{Step: step, Replica: replica, Pass: pass, Message: message,
			Begin: nanos(came), Length: nanos(end) - nanos(came), Waited: nanos(began) - nanos(came)})
	}
}

func nanos(us float64) time.Duration { return time.Duration(math.Round(us * 1000)) }
