package exchange

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
)

// This file is the rounds in which all processes say something. All send it to the hub, which gives each what is for
// it: one blob for all, or one for each.

// AllGather returns the blobs of all processes, indexed by number; with empty ones it is a barrier. After an error,
// also that of a ctx that ended, the exchange serves no more.
func (x *Member) AllGather(ctx context.Context, blob []byte) ([][]byte, error) {
	return x.round(ctx, sayToAll(blob))
}

// AllToAll gives each process its own blob: blobs is indexed by who gets it, and the result by whose it is. A process
// may call AllGather meanwhile; then all get the same from it. Errors are as AllGather has them.
func (x *Member) AllToAll(ctx context.Context, blobs [][]byte) ([][]byte, error) {
	if len(blobs) != x.size {
		return nil, fmt.Errorf("%d blobs for %d processes", len(blobs), x.size)
	}
	return x.round(ctx, sayToEach(blobs))
}

// What a process says begins with whom it is for.
const (
	forAll byte = iota // and then a blob
	forEach
)

func sayToAll(blob []byte) []byte { return append([]byte{forAll}, blob...) }

func sayToEach(blobs [][]byte) []byte { return append([]byte{forEach}, pack(blobs)...) }

// A saying is what a process has said: one blob, or one for each process.
type saying [][]byte

func readSaying(said []byte, size int) (saying, error) {
	switch {
	case len(said) > 0 && said[0] == forAll:
		return saying{said[1:]}, nil
	case len(said) > 0 && said[0] == forEach:
		return unpack(said[1:], size)
	}
	return nil, errors.New("it says nothing that is known")
}

func (s saying) to(process int) []byte {
	if len(s) == 1 {
		return s[0]
	}
	return s[process]
}

// receivedBy returns what a process receives of what all have said.
func receivedBy(process int, all []saying) [][]byte {
	blobs := make([][]byte, len(all))
	for i, s := range all {
		blobs[i] = s.to(process)
	}
	return blobs
}

func (x *Member) round(ctx context.Context, says []byte) ([][]byte, error) {
	x.gather.Lock()
	defer x.gather.Unlock()
	var all [][]byte
	err := fits(says)
	switch {
	case err != nil:
	case x.index == 0:
		all, err = x.hubRound(ctx, says)
	default:
		all, err = x.guestRound(ctx, says)
	}
	if err != nil {
		x.end(err, false)
	}
	return all, x.said(err)
}

func (x *Member) guestRound(ctx context.Context, says []byte) ([][]byte, error) {
	if err := x.links[0].send(frameGather, says); err != nil {
		x.lost(0, err)
		return nil, x.because(err)
	}
	packed, err := x.next(ctx, x.links[0])
	if err != nil {
		return nil, err
	}
	return unpack(packed, x.size)
}

func (x *Member) hubRound(ctx context.Context, says []byte) ([][]byte, error) {
	all := make([]saying, x.size)
	for i := range all {
		said, err := says, error(nil)
		if i > 0 {
			said, err = x.next(ctx, x.links[i])
		}
		if err != nil {
			return nil, err
		}
		if all[i], err = readSaying(said, x.size); err != nil {
			return nil, fmt.Errorf("process %d: %w", i, err)
		}
	}
	packed, err := packFor(x.links, all)
	if err != nil {
		return nil, err
	}
	if to, err := x.hand(packed); err != nil {
		x.lost(to, err)
		return nil, x.because(err)
	}
	return receivedBy(0, all), nil
}

// packFor packs what the process of each link hears: once, if all hear the same.
func packFor(links []*link, all []saying) ([][]byte, error) {
	alike := true
	for _, s := range all {
		alike = alike && len(s) == 1
	}
	packed := make([][]byte, len(links))
	for i := 1; i < len(links); i++ {
		if alike && i > 1 {
			packed[i] = packed[1]
			continue
		}
		packed[i] = pack(receivedBy(i, all))
		if err := fits(packed[i]); err != nil {
			return nil, err
		}
	}
	return packed, nil
}

// hand gives all others what is packed for them. It returns the process that does not take it, and why.
func (x *Member) hand(packed [][]byte) (to int, err error) {
	x.handing.Lock()
	defer x.handing.Unlock()
	for _, l := range x.links[1:] {
		if err := l.send(frameGather, packed[l.to]); err != nil {
			return l.to, err
		}
	}
	return 0, nil
}

// next returns the blob that comes next from a link.
func (x *Member) next(ctx context.Context, l *link) ([]byte, error) {
	var err error
	select {
	case blob := <-l.blobs:
		return blob, nil
	case <-l.left:
		err = &lossError{process: l.to, why: "has left the job", after: x.about.after()}
	case <-x.done:
		err = x.Lost()
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	select {
	case blob := <-l.blobs: // which came before
		return blob, nil
	default:
		return nil, err
	}
}

// pack makes one blob of several, each preceded by its length.
func pack(blobs [][]byte) []byte {
	var packed []byte
	for _, b := range blobs {
		packed = append(binary.LittleEndian.AppendUint32(packed, uint32(len(b))), b...)
	}
	return packed
}

func unpack(packed []byte, count int) ([][]byte, error) {
	blobs := make([][]byte, count)
	for i := range blobs {
		if len(packed) < 4 {
			return nil, errors.New("the exchange's hub sent less than there are processes")
		}
		n := binary.LittleEndian.Uint32(packed)
		if uint64(n) > uint64(len(packed)-4) {
			return nil, errors.New("the exchange's hub sent a blob in part")
		}
		blobs[i], packed = packed[4:4+n], packed[4+n:]
	}
	return blobs, nil
}
