package ir

import (
	"fmt"
	"slices"
	"strings"
)

// A Protocol says how data is flagged on the wire.
type Protocol uint8

// The protocols, in the order of the kernel's constants and of files.
const (
	Simple Protocol = iota
	LL
	LL16
	LL128
	NumProtocols
)

// A ProtocolRow has all that differs between protocols by a number or a name. What they do differently is code, in
// kernels/protocol.
type ProtocolRow struct {
	Name string

	// Packet is the bytes on the wire of the smallest whole number of packets that carry a multiple of 16 bytes, and Data
	// is the bytes of data in them. Without flags on the wire both are 16.
	Packet, Data int64

	// Slots is how many messages a connection of a two-sided program holds before its sender waits, and SlotBytes how many
	// bytes of data one holds, as the runtimes of MSCCL-IR have it by default.
	Slots     int
	SlotBytes int64

	// Brief is how many bytes a thread block copies in the time that a message takes on its way.
	Brief int64

	// Releases reports whether posting a message is a release, and awaiting it an acquire. A packet carries its flag with
	// its data, and orders nothing else.
	Releases bool

	// FlagBits is how many bits of a message's number its flags hold; 0 if it has no flags.
	FlagBits int

	// Lines reports whether packets of one-sided programs are lines of 128 bytes. Otherwise they are pairs of words.
	Lines bool

	// Like is the protocol that this one is as fast as, as far as is known: itself, if its costs were measured.
	Like Protocol

	// Runtimes reports whether the runtimes of MSCCL-IR have it. The others are this executor's own.
	Runtimes bool

	// Entry names the kernel's entries for two-sided programs. Protocols with the same bytes on the wire share them.
	Entry string
}

// Protocols has the row of each protocol. LL sends 4 bytes of data with each 4 of flag, LL16 8 with 8, and LL128 120
// with 8. Simple sends plain data with counters beside it.
var Protocols = [NumProtocols]ProtocolRow{
	Simple: {Name: "Simple", Packet: 16, Data: 16, Slots: 2, SlotBytes: 2 << 20, Brief: 8 << 10, Releases: true,
		Like: Simple, Runtimes: true, Entry: "simple"},
	LL: {Name: "LL", Packet: 32, Data: 16, Slots: 8, SlotBytes: 32 << 10, Brief: 1 << 10, FlagBits: 32,
		Like: LL, Runtimes: true, Entry: "ll"},
	LL16: {Name: "LL16", Packet: 32, Data: 16, Slots: 8, SlotBytes: 32 << 10, Brief: 1 << 10, FlagBits: 32,
		Like: LL, Entry: "ll"},
	LL128: {Name: "LL128", Packet: 128, Data: 120, Slots: 8, SlotBytes: 576000, Brief: 2 << 10, FlagBits: 64, Lines: true,
		Like: LL128, Runtimes: true, Entry: "ll128"},
}

// Row returns the row of p.
func (p Protocol) Row() *ProtocolRow { return &Protocols[p] }

func (p Protocol) String() string { return Protocols[p].Name }

// MarshalText writes p's name.
func (p Protocol) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads a name.
func (p *Protocol) UnmarshalText(text []byte) (err error) {
	var ok bool
	if *p, ok = ProtocolByName(string(text)); !ok {
		err = fmt.Errorf("%q is no protocol", text)
	}
	return err
}

// Slots is that of p's row.
func (p Protocol) Slots() int { return Protocols[p].Slots }

// Releases is that of p's row.
func (p Protocol) Releases() bool { return Protocols[p].Releases }

// SlotBytes is that of p's row.
func (p Protocol) SlotBytes() int64 { return Protocols[p].SlotBytes }

// ProtocolByName finds a protocol by its exact name.
func ProtocolByName(s string) (Protocol, bool) {
	i := slices.Index(ProtocolNames(), s)
	return Protocol(max(i, 0)), i >= 0
}

// ProtocolList returns the names of all protocols as a sentence has them, with word before the last.
func ProtocolList(word string) string {
	names := ProtocolNames()
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " " + word + " " + names[last]
}

// ProtocolNames returns the names of all protocols, indexed by Protocol.
func ProtocolNames() []string {
	var names []string
	for i := range Protocols {
		names = append(names, Protocols[i].Name)
	}
	return names
}
