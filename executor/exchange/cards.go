package exchange

import (
	"net"
	"slices"
	"strings"
)

// This file is by which network cards the processes of a job reach each other: those by which they have reached process
// 0. A host may have others, which lead elsewhere.

// cardOf returns the name of the card that a connection goes by, at this end, or "". Within says that the other end is
// on this host: then it says nothing of how other hosts are reached. If another host has reached an address of the
// loopback, no card is known: any may have taken it. transport/cards.cc has the same rule, for the library.
func cardOf(conn net.Conn) (name string, within bool) {
	here, ok1 := conn.LocalAddr().(*net.TCPAddr)
	there, ok2 := conn.RemoteAddr().(*net.TCPAddr)
	if !ok1 || !ok2 {
		return "", true // a pipe
	}
	within = there.IP.IsLoopback()
	cards, err := net.Interfaces()
	if err != nil {
		return "", within
	}
	loop := false
	for _, card := range cards {
		list, _ := card.Addrs()
		for _, a := range list {
			if own, ok := a.(*net.IPNet); ok {
				within = within || own.IP.Equal(there.IP)
				if own.IP.Equal(here.IP) && name == "" {
					name, loop = card.Name, card.Flags&net.FlagLoopback != 0
				}
			}
		}
	}
	if loop && !within {
		name = ""
	}
	return name, within
}

// hubCards returns the cards at which the hub has the others: the loopback only if all are on this host.
func hubCards(conns []net.Conn) []string {
	var cards, loops []string
	for _, conn := range conns {
		name, within := cardOf(conn)
		switch {
		case name == "":
		case within:
			loops = append(loops, name)
		default:
			cards = append(cards, name)
		}
	}
	if cards == nil {
		cards = loops
	}
	slices.Sort(cards)
	return slices.Compact(cards)
}

// guestCards returns the cards of a process that has reached the hub, which has its others at some.
func guestCards(conn net.Conn, hub []string) []string {
	name, within := cardOf(conn)
	if within {
		return hub // it is this host
	}
	if name == "" {
		return nil
	}
	return []string{name}
}

// Cards returns the network cards by which this process reaches the others: one, or at process 0 perhaps several. It
// returns none where the system does not say them, or where all are in this process.
func (x *Member) Cards() []string { return x.cards }

// Names of cards follow the hub's proof over the network. Linux has no comma in them.
func joinCards(cards []string) string { return strings.Join(cards, ",") }

func splitCards(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}
