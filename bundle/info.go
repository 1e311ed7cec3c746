package bundle

import (
	"encoding/hex"
	"encoding/json"
	"slices"
)

// An Info describes a bundle for readers.
type Info struct {
	Device  string      `json:"device"`
	Kernels string      `json:"kernels" doc:"the SHA-256 of the kernel's sources"`
	Maker   string      `json:"maker,omitempty" doc:"what wrote the bundle"`
	Note    string      `json:"note,omitempty" doc:"where its rules come from"`
	DTypes  []string    `json:"dtypes" doc:"the types that calls may have, as the bundle says itself"`
	Sets    []SetInfo   `json:"sets" doc:"one for each number of ranks on one node, and for each way in which ranks lie on several"`
	Images  []ImageInfo `json:"images"`
}

// A SetInfo describes what communicators of a given number of ranks run, which lie on nodes so.
type SetInfo struct {
	Ranks    int           `json:"ranks"`
	Nodes    string        `json:"nodes,omitempty" doc:"the ranks of each node; absent: one node"`
	Bits     string        `json:"bits,omitempty" doc:"invariant: for jobs with MSCCLC_BITS=invariant; absent: for others"`
	CTAs     int           `json:"ctas" doc:"of the rule that has most"`
	Arena    uint64        `json:"arena" doc:"bytes of a rank's memory that other ranks reach"`
	Rules    []RuleInfo    `json:"rules" doc:"the first that fits a call counts"`
	Programs []ProgramInfo `json:"programs"`
}

// A ProgramInfo describes a program.
type ProgramInfo struct {
	Number     uint32 `json:"number"`
	Title      string `json:"title"`
	Root       *int   `json:"root,omitempty" doc:"of collectives that have one"`
	InPlace    bool   `json:"inplace" doc:"proven for calls in place"`
	OutOfPlace bool   `json:"outofplace" doc:"proven for calls out of place"`
	Bitwise    bool   `json:"bitwise" doc:"all ranks end with the same bits"`
	Ordered    bool   `json:"ordered,omitempty" doc:"it adds in the order of ranks"`
	Direct     bool   `json:"direct,omitempty" doc:"it reaches buffers of other ranks, in windows"`
	Then       string `json:"then,omitempty" doc:"what becomes of each row of the sum; absent: nothing"`

	Name    string       `json:"name,omitempty" doc:"by which jobs run it; absent: by rules only"`
	Buffers []BufferInfo `json:"buffers,omitempty" doc:"of a program with a name"`

	Blocks   int    `json:"blocks" doc:"thread blocks of the rank that has most"`
	Replicas uint32 `json:"replicas" doc:"that there is memory for"`
	Tile     uint64 `json:"tile" doc:"bytes that there is memory for"`
	At       uint64 `json:"at" doc:"where its memory begins in the arena"`
	Memory   uint64 `json:"memory" doc:"bytes of a rank"`
	Pinned   uint64 `json:"pinned,omitempty" doc:"bytes of the host's memory for a rank, of programs for several nodes"`
	Messages int    `json:"messages,omitempty" doc:"signals to ranks of other nodes, of all ranks"`
}

// A BufferInfo describes a buffer of a program that jobs run by its name.
type BufferInfo struct {
	Name      string   `json:"name"`
	Direction string   `json:"direction" doc:"input or output"`
	Units     []uint32 `json:"units" doc:"by rank: a call says how many elements a unit has"`
}

// An ImageInfo describes an image.
type ImageInfo struct {
	Name   string `json:"name"`
	Form   string `json:"form" doc:"ptx or cubin"`
	Target int    `json:"target" doc:"80 of sm_80"`
	Bytes  int    `json:"bytes"`
}

// Candidates reports whether b has candidates, among which the library learns.
func (b *Bundle) Candidates() bool {
	return slices.ContainsFunc(b.Sets, func(s Set) bool {
		return slices.ContainsFunc(s.Rules, func(r RuleRow) bool { return r.When&WhenCandidate != 0 })
	})
}

// Info describes b.
func (b *Bundle) Info() Info {
	var about About
	if json.Unmarshal(b.About, &about) != nil {
		about = About{} // which is for readers alone
	}
	out := Info{Kernels: hex.EncodeToString(b.ABI[:]), Maker: about.Maker, Note: about.Note, Sets: []SetInfo{},
		DTypes: append([]string{}, about.DTypes...), Images: []ImageInfo{}}
	for i := range b.Sets {
		out.Device = b.Sets[i].Device
		out.Sets = append(out.Sets, b.setInfo(&b.Sets[i]))
	}
	for _, m := range b.Images {
		out.Images = append(out.Images, ImageInfo{m.Name, [2]string{"ptx", "cubin"}[m.Form], m.Target, len(m.Code)})
	}
	return out
}

func (b *Bundle) setInfo(s *Set) SetInfo {
	out := SetInfo{Ranks: s.Ranks, Nodes: s.Nodes(), Bits: s.bits(), CTAs: s.CTAs, Arena: s.Arena, Rules: []RuleInfo{},
		Programs: []ProgramInfo{}}
	for i := range s.Rules {
		out.Rules = append(out.Rules, b.ruleInfo(&s.Rules[i]))
	}
	for _, n := range s.Programs {
		p := b.Programs[n]
		info := ProgramInfo{Number: n, Title: p.Title(), InPlace: p.InPlace != 0, OutOfPlace: p.OutOfPlace != 0,
			Bitwise: p.Bitwise != 0, Ordered: p.Ordered != 0, Direct: p.Direct != 0, Then: p.Then().String(),
			Blocks: p.BlocksOf(), Replicas: p.Replicas, Tile: p.Tile, At: p.ScratchAt, Memory: p.Memory()}
		if n := p.Named; n != nil {
			info.Name = n.Name
			info.Buffers = []BufferInfo{{bufferNames[0], bufferNames[0], n.In}, {bufferNames[1], bufferNames[1], n.Out}}
		}
		if p.Net != nil {
			info.Pinned, info.Messages = p.pinned(), len(p.Net.Messages)
		}
		if p.kind().Rooted() {
			info.Root = new(int(p.Root))
		}
		out.Programs = append(out.Programs, info)
	}
	return out
}

// about writes what readers see of the bundle.
func (b *builder) about() error {
	a := About{Maker: b.Maker, Note: b.Note, Device: b.Device, Ranks: b.Ranks, CTAs: b.CTAs, Programs: []Record{}}
	for _, t := range b.DTypes {
		a.DTypes = append(a.DTypes, t.String())
	}
	for i := range b.out.Sets {
		for _, n := range b.out.Sets[i].Programs {
			a.Programs = append(a.Programs, b.out.Programs[n].record(&b.out.Sets[i]))
		}
	}
	text, err := json.Marshal(a)
	b.out.About = append(text, '\n')
	return err
}
