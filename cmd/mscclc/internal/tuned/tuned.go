// Package tuned keeps the results of mscclc tune in the user's cache, and makes bundles from them.
package tuned

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"mscclc/bundle"
	"mscclc/executor/cuda"
	"mscclc/internal/usercache"
	"mscclc/ir/diag"
	"mscclc/kernels"
)

// The bounds of the cache.
const (
	maxFile  = 16 << 20
	maxFiles = 256
)

// head is what the first line of a file begins with. The hash of the rest follows.
const head = "mscclc tuned 1 "

// A Machine is what rules are measured on. Those of another machine are others.
type Machine struct {
	Device  string `json:"device" doc:"the GPUs, as their driver names them"`
	GPUs    int    `json:"gpus"`
	Links   string `json:"links" doc:"how GPUs reach each other: NVLink, PCIe, none, or a row of letters for each GPU"`
	Driver  string `json:"driver"`
	NCCL    string `json:"nccl,omitempty" doc:"its version; absent: rules were measured without NCCL"`
	Kernels string `json:"kernels" doc:"of mscclc"`
}

// Here describes this machine, with a version of NCCL. It fails where there is no NVIDIA GPU.
func Here(nccl string) (Machine, error) {
	is, err := cuda.Machine()
	if err != nil {
		return Machine{}, err
	}
	hash := kernels.Hash()
	return Machine{is.Device, is.GPUs, is.Links, is.Driver, nccl, fmt.Sprintf("%x", hash[:8])}, nil
}

// Apart reports whether two of the first `gpus` GPUs do not reach each other's memory.
func (m Machine) Apart(gpus int) bool {
	if !strings.Contains(m.Links, " ") {
		return m.Links == "none" && gpus > 1
	}
	for a, row := range strings.Fields(m.Links) {
		for b := range min(gpus, len(row)) {
			if a < gpus && a != b && row[b] == '-' {
				return true
			}
		}
	}
	return false
}

// ApartHere reports whether two of the first `gpus` NVIDIA GPUs of this machine do not reach each other's memory.
func ApartHere(gpus int) bool {
	m, err := Here("")
	return err == nil && m.Apart(gpus)
}

// String describes m in a line.
func (m Machine) String() string {
	nccl := ""
	if m.NCCL != "" {
		nccl = ", NCCL " + m.NCCL
	}
	return fmt.Sprintf("%d x %s, %s, %s%s", m.GPUs, m.Device, m.Links, m.Driver, nccl)
}

// name returns the name of the file of m.
func (m Machine) name() string {
	text, _ := json.Marshal(m)
	return usercache.Name(sha256.Sum256(text))
}

// A Group is what is tuned at once: a collective among some ranks, between windows or other buffers, for jobs with
// MSCCLC_BITS=invariant or others.
type Group struct {
	Collective string `json:"collective"`
	Ranks      int    `json:"ranks"`
	Nodes      string `json:"nodes,omitempty" doc:"how the ranks lie on several nodes; absent: one"`
	Windows    bool   `json:"windows,omitempty" doc:"calls between windows"`
	Bits       string `json:"bits,omitempty" doc:"invariant: programs that add in the order of ranks; absent: all"`
	Apart      bool   `json:"apart,omitempty" doc:"among GPUs that do not reach each other's memory"`
}

// A Sizes is what was measured of a group. Done is whether that is all.
type Sizes struct {
	Group
	Sizes []bundle.TimedSize `json:"sizes"`
	Done  bool               `json:"done"`

	// F32 is how many times as large the gain over NCCL is with f32, of captured and eager launches, by the bytes of
	// calls.
	F32 map[int64][2]float64 `json:"f32,omitempty"`
}

// A Document is what was measured on a machine. Conclude adds what follows; after a measurement that was stopped it is
// not there.
type Document struct {
	Machine  Machine   `json:"machine"`
	Measured time.Time `json:"measured" doc:"when that ended"`
	Groups   []Sizes   `json:"groups"`

	Times []Time           `json:"times,omitempty" doc:"what calls take by the rules"`
	Rules *bundle.Measured `json:"rules,omitempty"`
}

// Put replaces what was measured of a group. What followed before does not hold any more.
func (d *Document) Put(s Sizes, now time.Time) {
	d.Groups = slices.DeleteFunc(d.Groups, func(o Sizes) bool { return o.Group == s.Group })
	d.Groups = append(d.Groups, s)
	slices.SortStableFunc(d.Groups, func(a, b Sizes) int {
		return cmp.Or(cmp.Compare(b.Ranks, a.Ranks), cmp.Compare(a.Nodes, b.Nodes), cmp.Compare(a.Bits, b.Bits))
	})
	d.Measured, d.Times, d.Rules = now.UTC().Truncate(time.Second), nil, nil
}

// Done reports whether all of a group was measured, up to calls of a given number of bytes.
func (d *Document) Done(g Group, bytes int64) bool {
	s := d.Of(g)
	return s.Done && (len(s.Sizes) == 0 || s.Sizes[len(s.Sizes)-1].Bytes >= bytes-bytes/8) // sizes are rounded down
}

// Of returns what was measured of a group.
func (d *Document) Of(g Group) Sizes {
	if i := slices.IndexFunc(d.Groups, func(s Sizes) bool { return s.Group == g }); i >= 0 {
		return d.Groups[i]
	}
	return Sizes{Group: g}
}

// Title says in a line what d is and when it was measured.
func (d *Document) Title() string {
	return fmt.Sprintf("measured by mscclc tune on %s: %v", d.Measured.Format("2006-01-02 15:04 UTC"), d.Machine)
}

// Read returns what was found on a machine. The error wraps fs.ErrNotExist where nothing was.
func Read(m Machine) (*Document, error) {
	folder, err := usercache.Find("tuned")
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	text, err := folder.Read(m.name(), maxFile)
	if err != nil {
		return nil, err
	}
	return decode(text, m)
}

// decode reads a file of the cache, which is to be of a machine.
func decode(text []byte, m Machine) (*Document, error) {
	d, err := parse(text)
	if err == nil && d.Machine != m {
		return nil, fmt.Errorf("it was found on another machine: %w", fs.ErrNotExist)
	}
	return d, err
}

// parse reads a file of the cache.
func parse(text []byte) (*Document, error) {
	d := &Document{}
	if usercache.Decode(head, text, d) != nil {
		return nil, errors.New("what mscclc tune found is damaged in the cache")
	}
	if d.Rules != nil {
		d.Rules.Yield()
	}
	return d, nil
}

// Write writes d to the cache.
func (d *Document) Write() error {
	text, err := usercache.Encode(head, d)
	if err != nil {
		return err
	}
	folder, err := usercache.Open("tuned")
	if err != nil {
		return err
	}
	defer folder.Close()
	folder.Prune(maxFiles)
	return folder.Write(d.Machine.name(), text)
}

// MeasuredOn returns the machine that the note of a bundle names, or "" where mscclc tune did not make the bundle.
func MeasuredOn(note string) string {
	note, _, _ = strings.Cut(note, ", then candidates")
	if _, machine, found := strings.Cut(note, " UTC: "); found && strings.HasPrefix(note, "measured by mscclc tune on ") {
		return diag.Printable(machine)
	}
	return ""
}

// Find returns what was found on this machine beside a version of NCCL, or nil.
func Find(nccl string) (*Document, error) {
	m, err := Here(nccl)
	if err != nil {
		return nil, nil // a machine without GPUs: what needs them says so
	}
	d, err := Read(m)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, usercache.ErrOff) || err == nil && len(d.Groups) == 0 {
		return nil, nil
	}
	if err == nil {
		d.Conclude()
	}
	return d, err
}
