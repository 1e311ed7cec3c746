package lsp

import (
	"fmt"
	"strings"

	"mscclc/ir/diag"
	"mscclc/topology"
)

// This file has what is said of machines, .topo files.

func classText(c *topology.Class) string {
	text := fmt.Sprintf("class %s: %g us, %g GB/s", c.Name, c.Latency, c.Bandwidth/1e3)
	if c.Network {
		text += ", between nodes"
	}
	return text
}

func groupText(group string, n int) string {
	if n == 1 {
		return group + ": one in the machine"
	}
	return fmt.Sprintf("%s: %d in the machine", group, n)
}

// machineLens says what the machine comes to.
func (d *snapshot) machineLens() []codeLens {
	t := d.analysis().machine
	if t == nil {
		return []codeLens{}
	}
	title := fmt.Sprintf("%s, %s, %s", diag.Counted(t.Nodes, "node"), diag.Counted(t.Ranks(), "GPU"),
		diag.Counted(len(t.Links), "link"))
	if t.Device != "" {
		title += ", device " + t.Device
	}
	return []codeLens{{d.rangeOf(diag.Span{}), command{title, "mscclc.topo", []any{d.uri}}}}
}

// hoverMachine says what a word of a machine is.
func (d *snapshot) hoverMachine(at int) any {
	t := d.analysis().machine
	from, to := at, at
	for from > 0 && isWordByte(d.text[from-1]) {
		from--
	}
	for to < len(d.text) && isWordByte(d.text[to]) {
		to++
	}
	if t == nil || from == to {
		return nil
	}
	text := machineNames(t)[string(d.text[from:to])]
	if text == "" {
		return nil
	}
	return hover{markup{"markdown", text}, d.between(from, to)}
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// machineSymbols lists the classes and groups of a machine.
func (d *snapshot) machineSymbols() []documentSymbol {
	list := []documentSymbol{}
	for i, at := range d.lines {
		line := string(d.text[at:d.lineEnd(i)])
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		name := words[0]
		switch words[0] {
		case "topology", "class", "switch":
			if len(words) > 1 {
				name, _, _ = strings.Cut(words[1], "(")
			}
		case "gpu", "nic", "node":
		default:
			continue
		}
		from := at + strings.Index(line, name)
		span := diag.Span{Pos: diag.Pos{Line: i + 1, Column: from - at + 1}, Len: len(name)}
		list = append(list, d.symbol(span, name, words[0], symbolClass))
	}
	return list
}
