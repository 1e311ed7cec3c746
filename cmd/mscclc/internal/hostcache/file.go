package hostcache

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mscclc/algorithms/choose"
	"mscclc/internal/usercache"
	"mscclc/simulate/devices"
	"mscclc/topology"
)

// This file is the form of a file of the cache.

// The bounds of the cache.
const (
	maxFile  = 1 << 20
	maxFiles = 256
)

// head is what the first line begins with.
const head = "mscclc hosts 1 "

// A document is the JSON of a file.
type document struct {
	Build    string          `json:"build"`
	Nodes    []string        `json:"nodes"`
	Tuned    json.RawMessage `json:"tuned,omitempty"`
	Topology string          `json:"topology,omitempty"`
	Costs    json.RawMessage `json:"costs,omitempty"`
}

// encode returns the text of a file.
func (d *document) encode() ([]byte, error) {
	text, err := usercache.Encode(head, d)
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("it has %d bytes, and may have %d", len(text), maxFile)
	}
	return text, err
}

// decode reads a file. The error says why it does not count: what is wrong with it, or that it is of another build or
// of other nodes.
func decode(text []byte, build string, nodes []string) (*document, error) {
	d := &document{}
	switch err := usercache.Decode(head, text, d); {
	case err != nil:
		return nil, err
	case d.Build != build:
		return nil, fmt.Errorf("it was found by another build of mscclc, %s", d.Build)
	case !slices.Equal(d.Nodes, nodes):
		return nil, errors.New("it was found on other hosts")
	}
	return d, nil
}

// here returns what the document says.
func (d *document) here() (*choose.Here, error) {
	h := &choose.Here{Topology: d.Topology}
	var err error
	if len(d.Tuned) > 0 {
		if h.Tuned, err = choose.ReadTable("the cache", bytes.NewReader(d.Tuned)); err != nil {
			return nil, err
		}
	}
	if d.Topology == "" {
		return h, nil
	}
	if _, err := topology.Read("the cache", strings.NewReader(d.Topology), nil); err != nil {
		return nil, err
	}
	h.Costs, err = devices.ReadCosts("the cache", bytes.NewReader(d.Costs))
	return h, err
}
