package measurecmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/devices"
	"mscclc/cmd/mscclc/internal/hostcache"
	"mscclc/executor/exchange"
	"mscclc/executor/measure"
	devicecosts "mscclc/simulate/devices"
	"mscclc/topology"
)

// This file turns what was measured into a topology and costs: those of a machine that mscclc knows, with the network
// that was measured.

// A base is a machine that mscclc knows: its text, its name, and the costs of its device.
type base struct {
	name, text string
	device     []byte // its file of costs
	gpu        string // the name of the GPUs at hand, or cpu
}

// base finds the machine that is like those at hand: with GPUs of this kind, and as many as there are.
func (f *Flags) base() (*base, error) {
	gpu := "cpu"
	if open := devices.GPUs[f.device]; open != nil {
		list, err := open().GPUs()
		if err != nil {
			return nil, devices.Impossible(err)
		}
		gpu = list[0].Name()
	}
	kind := strings.ToLower(gpu)
	for _, fallback := range []bool{false, true} {
		for _, name := range topology.Names() {
			t, err := topology.Open(name + ":nodes=2,gpus=3")
			if err != nil || topology.DeviceOf(kind) != t.Device && !(fallback && t.Device == "h200") {
				continue // it has another number of GPUs than one may ask for
			}
			text, err := topology.Source(name)
			if err != nil {
				return nil, err
			}
			costs, err := devicecosts.SourceOf(t.Device)
			return &base{name, text, costs, gpu}, err
		}
	}
	return nil, cli.Usagef("no machine that mscclc knows has %q", kind)
}

// rounded has three digits.
func rounded(v float64) float64 {
	if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return v
	}
	scale := math.Pow(10, 2-math.Floor(math.Log10(math.Abs(v))))
	return math.Round(v*scale) / scale
}

var (
	head    = regexp.MustCompile(`(?m)^topology (\w+)\(.*\)`)
	network = regexp.MustCompile(`(?m)^class (\w+) \S+ \S+ network`)
	memory  = regexp.MustCompile(`(?m)^class memory (\S+) \S+$`)
)

// leastLatency is that of a link at least, in us, whatever the proxies take of a message.
const leastLatency = 0.1

// topology writes the machine, with the network that was measured. A message goes through two links between nodes, and
// the proxies at both ends take some of its time. Where a node has one NIC, that is shared; else each GPU has its part.
func (b *base) topology(r *measure.Result) func(io.Writer) error {
	latency := max((r.Latency-2*r.Message)/2, leastLatency)
	beta := r.All
	if !regexp.MustCompile(`(?m)^\s+nic 1$`).MatchString(b.text) {
		beta /= float64(r.PerNode)
	}
	text := b.text[strings.Index(b.text, "\ntopology ")+1:]
	text = head.ReplaceAllString(text, fmt.Sprintf("topology here(nodes = %d, gpus = %d)", r.Nodes, r.PerNode))
	text = network.ReplaceAllString(text, fmt.Sprintf("class $1 %sus %sGB/s network", number(latency), number(beta)))
	text = memory.ReplaceAllString(text, fmt.Sprintf("class memory $1 %sGB/s", number(r.Copy)))
	return func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "# Measured by mscclc topo --measure, over %s: the hosts of a job.\n#\n# The network is "+
			"measured: %s us for 8 bytes, %s us for one of many messages,\n# %s GB/s from one process to another, and %s GB/s "+
			"between two nodes. All else is as in the machine %s.\n%s", r.Engine, number(r.Latency), number(r.Message),
			number(r.One), number(r.All), b.name, text)
		return err
	}
}

// network returns the costs of messages. Ranks that share processors with the proxies have signals that cost them time,
// and a message then takes as long as the machine says, if that is more: nothing else ran while it was measured.
func (b *base) network(text json.RawMessage, r *measure.Result) (json.RawMessage, error) {
	costs := map[string]float64{}
	if len(text) > 0 {
		if err := json.Unmarshal(text, &costs); err != nil {
			return nil, err
		}
	}
	message := r.Message
	if costs["signal_us"] > 0 {
		message = max(message, costs["message_us"])
	}
	costs["message_us"], costs["bytes_us"] = rounded(message), rounded(r.One*1e3)
	delete(costs, "nic_us")
	return json.Marshal(costs)
}

// keep keeps both for later jobs on these hosts, in process 0. All processes call it.
func (b *base) keep(ctx context.Context, a *cli.App, x *exchange.Member, node []int, r *measure.Result) error {
	found, err := hostcache.Open(ctx, a, x, node, b.gpu)
	if err != nil {
		return devices.Impossible(err)
	}
	var topology, costs bytes.Buffer
	if err := errors.Join(b.topology(r)(&topology), b.costs(r)(&costs)); err != nil {
		return err
	}
	found.Network(topology.Bytes(), costs.Bytes())
	return nil
}

// number returns a rounded number as files have it.
func number(v float64) string { return strconv.FormatFloat(rounded(v), 'f', -1, 64) }

// costs writes the costs of the device, with what a message takes of the proxies that was measured.
func (b *base) costs(r *measure.Result) func(io.Writer) error {
	return func(w io.Writer) error {
		var doc map[string]json.RawMessage
		if err := json.Unmarshal(b.device, &doc); err != nil {
			return err
		}
		var source string
		if err := json.Unmarshal(doc["source"], &source); err != nil {
			return err
		}
		var err1, err2 error
		doc["source"], err1 = json.Marshal("the network is measured by mscclc topo --measure over " + r.Engine +
			"; all else: " + source)
		doc["network"], err2 = b.network(doc["network"], r)
		if err1 != nil || err2 != nil {
			return fmt.Errorf("%w, %w", err1, err2)
		}
		flat, err := json.Marshal(doc)
		if err != nil {
			return err
		}
		var text bytes.Buffer
		if err := json.Indent(&text, flat, "", "  "); err != nil {
			return err
		}
		text.WriteByte('\n')
		_, err = w.Write(text.Bytes())
		return err
	}
}
