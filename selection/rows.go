package selection

import (
	"cmp"
	"fmt"
	"path"
	"strconv"
	"strings"

	"mscclc/bundle/limits"
	"mscclc/internal/strictjson"
	"mscclc/ir"
	"mscclc/passes/core"
)

// A row is a field of a Choice.
type row struct {
	key     string // in files
	read    func(t *strictjson.Reader, c *Choice)
	text    func(c *Choice) string // of its name, from a space on
	compare func(a, b *Choice) int
	unfit   func(c *Choice) (why string) // it does not go with the fields of rows before, or is out of range
}

// maxName bounds the name of a program.
const maxName = 1 << 10

// mostReplicas is the most replicas of a launch.
const mostReplicas = limits.Replicas

// rows are the fields of a Choice, in the order of its name.
var rows = []row{
	{"program",
		func(t *strictjson.Reader, c *Choice) { c.Program = t.Text(maxName) },
		func(c *Choice) string { return path.Base(c.Program) },
		func(a, b *Choice) int { return strings.Compare(a.Program, b.Program) },
		fits},
	{"protocol",
		func(t *strictjson.Reader, c *Choice) {
			c.Protocol, _ = ir.ProtocolByName(t.OneOf(ir.ProtocolNames()...))
		},
		func(c *Choice) string { return " " + c.Protocol.String() },
		func(a, b *Choice) int { return strings.Compare(a.Protocol.String(), b.Protocol.String()) },
		fits},
	{"sided",
		func(t *strictjson.Reader, c *Choice) { _ = c.Sided.UnmarshalText([]byte(t.OneOf(sidedNames...))) },
		func(c *Choice) string { return [...]string{TwoSided: " two-sided", Lowered: " lowered"}[c.Sided] },
		func(a, b *Choice) int { return cmp.Compare(a.Sided, b.Sided) },
		func(c *Choice) string {
			if c.Sided == Lowered && c.Protocol != ir.Simple {
				return `has "sided": "lowered", which only programs of protocol Simple are`
			}
			return ""
		}},
	{"via",
		func(t *strictjson.Reader, c *Choice) { _ = c.Via.UnmarshalText([]byte(t.OneOf(ir.ViaPort.String()))) },
		func(c *Choice) string {
			if c.Via == ir.ViaAny {
				return ""
			}
			return " " + c.Via.String()
		},
		func(a, b *Choice) int { return cmp.Compare(a.Via, b.Via) },
		func(c *Choice) string {
			if c.Via != ir.ViaAny && (c.Sided != OneSided || c.Protocol != ir.Simple) {
				return fmt.Sprintf(`has "via": %q, which only one-sided programs of protocol Simple have`, c.Via)
			}
			return ""
		}},
	{"placement",
		func(t *strictjson.Reader, c *Choice) {
			_ = c.Placement.UnmarshalText([]byte(t.OneOf(placementNames[1:]...)))
		},
		func(c *Choice) string { return spaced(c.Placement.String()) },
		func(a, b *Choice) int { return cmp.Compare(a.Placement, b.Placement) },
		fits},
	{"lanes",
		func(t *strictjson.Reader, c *Choice) {
			if c.Lanes = number(t, 1, core.MostLanes); c.Lanes == 1 {
				c.Lanes = 0
			}
		},
		func(c *Choice) string {
			if !c.Several() {
				return ""
			}
			return counted(c.Lanes, "lanes")
		},
		func(a, b *Choice) int { return cmp.Compare(a.Lanes, b.Lanes) },
		func(c *Choice) string {
			switch {
			case c.Lanes < 0 || c.Lanes > core.MostLanes:
				return fmt.Sprintf(`has "lanes": %d, and a rank has at most %d lanes`, c.Lanes, core.MostLanes)
			case c.Several() && c.Sided != OneSided:
				return fmt.Sprintf(`has "lanes": %d, which only one-sided programs have`, c.Lanes)
			}
			return ""
		}},
	{"copies",
		func(t *strictjson.Reader, c *Choice) { c.Copies = number(t, 2, core.MostCopies) },
		func(c *Choice) string { return counted(c.Copies, "copies") },
		func(a, b *Choice) int { return cmp.Compare(a.Copies, b.Copies) },
		func(c *Choice) string {
			switch {
			case c.Copies < 0 || c.Copies > core.MostCopies:
				return fmt.Sprintf(`has "copies": %d, and lanes have at most %d copies`, c.Copies, core.MostCopies)
			case c.Copies > 0 && !c.Several():
				return fmt.Sprintf(`has "copies": %d, which are for several lanes`, c.Copies)
			}
			return ""
		}},
	{"together",
		func(t *strictjson.Reader, c *Choice) { c.Together = number(t, 2, ir.MostTogether) },
		func(c *Choice) string { return counted(c.Together, "together") },
		func(a, b *Choice) int { return cmp.Compare(a.Together, b.Together) },
		func(c *Choice) string {
			switch {
			case c.Together > 0 && !c.Several():
				return fmt.Sprintf(`has "together": %d, which is for several lanes`, c.Together)
			case c.Together != 0 && !ir.MayShare(c.Together):
				return fmt.Sprintf(`has "together": %d, and 2 or %d replicas share a CTA`, c.Together, ir.MostTogether)
			}
			return ""
		}},
	{"replicas",
		func(t *strictjson.Reader, c *Choice) { c.Replicas = number(t, 0, mostReplicas) },
		func(c *Choice) string { return counted(c.Replicas, "") },
		func(a, b *Choice) int { return cmp.Compare(a.Replicas, b.Replicas) },
		func(c *Choice) string {
			switch {
			case c.Replicas < 0 || c.Replicas > mostReplicas:
				return fmt.Sprintf(`has "replicas": %d, and a launch has at most %d replicas`, c.Replicas, mostReplicas)
			case c.Sided == TwoSided && c.Replicas > 1:
				return fmt.Sprintf(`has "replicas": %d, and a two-sided program has no replicas`, c.Replicas)
			}
			return ""
		}},
	{"threads",
		func(t *strictjson.Reader, c *Choice) { c.Threads = number(t, 0, limits.Threads) },
		func(c *Choice) string {
			switch {
			case c.Threads == 0:
				return ""
			case c.Replicas == 0:
				return " x" + strconv.Itoa(c.Threads)
			}
			return "x" + strconv.Itoa(c.Threads)
		},
		func(a, b *Choice) int { return cmp.Compare(a.Threads, b.Threads) },
		func(c *Choice) string {
			if c.Threads < 0 || c.Threads > limits.Threads || c.Threads%limits.Warp != 0 {
				return fmt.Sprintf("has %d threads, and a block has a multiple of %d, up to %d", c.Threads, limits.Warp, limits.Threads)
			}
			return ""
		}},
	{"tile",
		func(t *strictjson.Reader, c *Choice) { c.Tile = int64(t.Uint(0, limits.Tile)) },
		func(c *Choice) string {
			switch {
			case c.Tile <= 0:
				return ""
			case c.Tile%1024 == 0:
				return "/" + strconv.FormatInt(c.Tile>>10, 10) + "K"
			}
			return "/" + strconv.FormatInt(c.Tile, 10)
		},
		func(a, b *Choice) int { return cmp.Compare(a.Tile, b.Tile) },
		func(c *Choice) string {
			if c.Tile < 0 || c.Tile > limits.Tile || c.Tile%limits.TileAlign != 0 {
				return fmt.Sprintf("has a tile of %d bytes, and tiles are multiples of %d, up to %d", c.Tile, limits.TileAlign,
					limits.Tile)
			}
			return ""
		}},
}

// The numbers of the rows that lanes and widths begin at.
const firstLane, firstWidth = 5, 8

// fits is unfit of a field that goes with all others.
func fits(*Choice) string { return "" }

func number(t *strictjson.Reader, least, most uint64) int { return int(t.Uint(least, most)) }

// spaced returns a word after a space, or nothing.
func spaced(word string) string {
	if word == "" {
		return ""
	}
	return " " + word
}

// counted returns a number above 0 and its word after a space, or nothing.
func counted(n int, word string) string {
	if n <= 0 {
		return ""
	}
	return " " + strconv.Itoa(n) + spaced(word)
}
