package exchange

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"net"
)

// This file is the words by which a process gets into a job. A guest says hello, the hub asks, the guest proves that it
// knows the job's secret, and when all have come, the hub welcomes it, and proves the same. A guest that may not come
// in is refused, with the reason. Proofs are HMACs of what both have said, with a number of each that is used once: who
// received earlier words can do nothing with them.

// helloMagic begins hello and question; its end is the version of the frames.
const helloMagic = "mscclc exchange 4\n"

const mostWords = 1024 // bytes of a frame before a process is known

type nonce [16]byte

func newNonce() (n nonce) {
	rand.Read(n[:])
	return n
}

// A hello is what a guest says first.
type hello struct {
	index, size uint32
	secret      bool // it knows one
	job         identity
	nonce       nonce
}

const helloBytes = len(helloMagic) + 4 + 4 + 1 + len(identity{}) + len(nonce{})

func (h *hello) bytes() []byte {
	b := binary.LittleEndian.AppendUint32([]byte(helloMagic), h.index)
	b = append(binary.LittleEndian.AppendUint32(b, h.size), flag(h.secret))
	return append(append(b, h.job[:]...), h.nonce[:]...)
}

func readHello(conn net.Conn) (h hello, err error) {
	kind, b, err := readFrame(conn, mostWords)
	if err != nil || kind != frameHello || len(b) != helloBytes || string(b[:len(helloMagic)]) != helloMagic {
		return h, errStranger
	}
	b = b[len(helloMagic):]
	h.index, h.size, h.secret = binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:]), b[8] != 0
	copy(h.job[:], b[9:])
	copy(h.nonce[:], b[9+len(h.job):])
	return h, nil
}

// A question is what the hub asks a guest of its job.
type question struct {
	secret bool // the guest has to know it
	nonce  nonce
}

func (q *question) bytes() []byte {
	return append(append([]byte(helloMagic), flag(q.secret)), q.nonce[:]...)
}

func (q *question) read(b []byte) error {
	if len(b) != len(helloMagic)+1+len(q.nonce) || string(b[:len(helloMagic)]) != helloMagic {
		return errStranger
	}
	q.secret = b[len(helloMagic)] != 0
	copy(q.nonce[:], b[len(helloMagic)+1:])
	return nil
}

// Whose proof it is.
const ofGuest, ofHub = "guest", "hub"

const proofBytes = sha256.Size

// proof returns what shows that who says it knows the secret.
func proof(secret []byte, who string, h *hello, q *question) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(who))
	mac.Write(h.bytes())
	mac.Write(q.bytes())
	return mac.Sum(nil)
}

func proves(said, secret []byte, who string, h *hello, q *question) bool {
	return hmac.Equal(said, proof(secret, who, h, q))
}

// errStranger is who does not speak as a process of a job does.
var errStranger = errors.New("it is no mscclc of this version")

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}
