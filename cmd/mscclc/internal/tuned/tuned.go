// Package tuned keeps what mscclc tune measures of a machine in the user's cache, and makes bundles of it.
package tuned

import (
	"bytes"
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
	"mscclc/cmd/mscclc/internal/cli"
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

// A Time is what calls of one size took: the program that the rules name, and NCCL.
type Time struct {
	Collective string  `json:"collective"`
	Ranks      int     `json:"ranks"`
	Nodes      string  `json:"nodes,omitempty"`
	When       string  `json:"when" doc:"eager or captured"`
	Windows    bool    `json:"windows,omitempty"`
	Bytes      int64   `json:"bytes"`
	Program    string  `json:"program" doc:"what runs such calls, or nccl"`
	Micros     float64 `json:"us" doc:"of the fastest program"`
	NCCLMicros float64 `json:"nccl_us,omitempty"`
}

// Gain is how many times as fast as NCCL calls run: 1 where NCCL runs them, 0 where it was not measured.
func (t *Time) Gain() float64 {
	switch {
	case t.NCCLMicros == 0:
		return 0
	case t.Program == bundle.NCCL:
		return 1
	}
	return t.NCCLMicros / t.Micros
}

// A Group is what is tuned at once: a collective among some ranks, between windows or other buffers.
type Group struct {
	Collective string `json:"collective"`
	Ranks      int    `json:"ranks"`
	Nodes      string `json:"nodes,omitempty"`
	Windows    bool   `json:"windows,omitempty"`
}

// A Document is what was found on a machine. Done lists the groups of which all sizes were measured.
type Document struct {
	Machine  Machine          `json:"machine"`
	Measured time.Time        `json:"measured" doc:"when that ended"`
	Rules    *bundle.Measured `json:"rules"`
	Times    []Time           `json:"times"`
	Done     []Group          `json:"done"`
}

// New returns an empty document.
func New(m Machine) *Document {
	d := &Document{Machine: m, Rules: &bundle.Measured{Version: bundle.RulesVersion, Device: m.Device}}
	d.Rules.Yield()
	return d
}

// Put replaces the rules and times of a group.
func (d *Document) Put(g Group, rules [][]bundle.MeasuredRule, times []Time, done bool, now time.Time) {
	d.Rules.Rules = slices.DeleteFunc(d.Rules.Rules, func(r bundle.MeasuredRule) bool {
		return Group{r.Collective, r.Ranks, r.Nodes, r.Windows} == g
	})
	for _, list := range rules {
		d.Rules.Put(list)
	}
	d.Times = slices.DeleteFunc(d.Times, func(t Time) bool { return t.group() == g })
	d.Times = append(d.Times, times...)
	slices.SortStableFunc(d.Times, func(a, b Time) int {
		return cmp.Or(cmp.Compare(a.Ranks, b.Ranks), cmp.Compare(a.Collective, b.Collective), cmp.Compare(a.When, b.When))
	})
	d.Done = slices.DeleteFunc(d.Done, func(o Group) bool { return o == g })
	if done {
		d.Done = append(d.Done, g)
	}
	d.Measured = now.UTC().Truncate(time.Second)
}

func (t *Time) group() Group { return Group{t.Collective, t.Ranks, t.Nodes, t.Windows} }

// Title says in a line what d is and when it was measured.
func (d *Document) Title() string {
	return fmt.Sprintf("measured by mscclc tune on %s: %v", d.Measured.Format("2006-01-02 15:04 UTC"), d.Machine)
}

// Spec returns what the bundle of d's rules is made of. Rules that are built in for the device stand behind them.
func (d *Document) Spec() bundle.Spec {
	spec := bundle.Spec{Device: d.Machine.Device, Ranks: d.Rules.Ranks(nil), DTypes: bundle.DefaultDTypes,
		CTAs: bundle.DefaultCTAs, Maker: "mscclc " + cli.Version(), Note: d.Title()}
	tables := []*bundle.Measured{d.Rules}
	for _, m := range bundle.BuiltIn() {
		if m.Device == d.Machine.Device {
			tables = append(tables, m)
		}
	}
	for _, n := range spec.Ranks {
		rules, _ := bundle.RulesFor(n, spec.CTAs, tables, false)
		spec.Rules = append(append(spec.Rules, rules...), bundle.RulesOver(n, tables)...)
	}
	return spec
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

// decode reads a file of the cache.
func decode(text []byte, m Machine) (*Document, error) {
	line, body, found := bytes.Cut(text, []byte("\n"))
	if !found || string(line) != fmt.Sprintf("%s%x", head, sha256.Sum256(body)) {
		return nil, errors.New("what mscclc tune found is damaged in the cache")
	}
	d, raw := &Document{}, struct {
		Rules json.RawMessage `json:"rules"`
	}{}
	if err := errors.Join(json.Unmarshal(body, d), json.Unmarshal(body, &raw)); err != nil {
		return nil, fmt.Errorf("what mscclc tune found is damaged in the cache: %w", err)
	}
	rules, err := bundle.ReadRules("what mscclc tune found", bytes.NewReader(raw.Rules))
	if err != nil {
		return nil, err
	}
	rules.Yield()
	if d.Rules = rules; d.Machine != m || rules.Device != m.Device {
		return nil, fmt.Errorf("it was found on another machine: %w", fs.ErrNotExist)
	}
	return d, nil
}

// Write writes d to the cache.
func (d *Document) Write() error {
	body, err := json.MarshalIndent(d, "", " ")
	if err != nil {
		return err
	}
	folder, err := usercache.Open("tuned")
	if err != nil {
		return err
	}
	defer folder.Close()
	folder.Prune(maxFiles)
	return folder.Write(d.Machine.name(), append(fmt.Appendf(nil, "%s%x\n", head, sha256.Sum256(body)), body...))
}

// MeasuredOn returns the machine that the note of a bundle names, or "" where mscclc tune did not make the bundle.
func MeasuredOn(note string) string {
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
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, usercache.ErrOff) || err == nil && len(d.Rules.Rules) == 0 {
		return nil, nil
	}
	return d, err
}
