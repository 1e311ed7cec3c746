package play

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"mscclc/algorithms"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/lang/syntax"
	"mscclc/topology"
)

// A Catalog is what the page's pickers offer.
type Catalog struct {
	Names     []string         `json:"names"` // of the programs
	Programs  []CatalogProgram `json:"programs"`
	Machines  []CatalogMachine `json:"machines"`
	Protocols []string         `json:"protocols"`
	DTypes    []string         `json:"dtypes"`
}

// A CatalogProgram is a program of the catalog.
type CatalogProgram struct {
	Name       string         `json:"name"` // allreduce/ring
	Collective string         `json:"collective"`
	Doc        string         `json:"doc"`
	Params     []CatalogParam `json:"params"`
	Library    bool           `json:"library"` // other programs import it
}

// A CatalogMachine is a machine that mscclc knows.
type CatalogMachine struct {
	Name   string         `json:"name"`
	Doc    string         `json:"doc"`
	Params []CatalogParam `json:"params"`
	Nodes  int            `json:"nodes"` // with the defaults
	GPUs   int            `json:"gpus"`  // of a node
	Device string         `json:"device"`
}

// A CatalogParam is a parameter with its default as it is written.
type CatalogParam struct {
	Name    string `json:"name"`
	Default string `json:"default"`
}

// CatalogOf returns the catalog.
var CatalogOf = sync.OnceValue(func() *Catalog {
	c := &Catalog{Names: algorithms.Names(), Programs: []CatalogProgram{}, Machines: []CatalogMachine{},
		Protocols: ir.ProtocolNames(), DTypes: []string{}}
	for dt := range data.NumDTypes {
		c.DTypes = append(c.DTypes, dt.String())
	}
	for _, name := range c.Names {
		text, err := algorithms.Open(name)
		if err != nil {
			continue // it is listed, so there is one
		}
		f, err := syntax.Parse(name+".mscl", text)
		if err != nil {
			continue
		}
		info := f.Info()
		p := CatalogProgram{Name: name, Collective: info.Collective, Doc: sentence(info.Doc), Params: []CatalogParam{},
			Library: info.Name == ""}
		for _, param := range info.Params {
			p.Params = append(p.Params, CatalogParam(param))
		}
		c.Programs = append(c.Programs, p)
	}
	for _, name := range topology.Names() {
		t, err := topology.Open(name)
		if err != nil {
			continue
		}
		m := CatalogMachine{name, t.Doc, machineParams(name), t.Nodes, t.GPUs, t.Device}
		c.Machines = append(c.Machines, m)
	}
	return c
})

// sentence returns the first sentence of a comment.
func sentence(doc string) string {
	doc = strings.Join(strings.Fields(doc), " ")
	if at := strings.Index(doc, ". "); at >= 0 {
		return doc[:at+1]
	}
	return doc
}

// machineHead is the first line of a machine.
var machineHead = regexp.MustCompile(`(?m)^topology \w+\((.*)\)`)

// machineParams returns the parameters of a machine that mscclc knows.
func machineParams(name string) []CatalogParam {
	list := []CatalogParam{}
	text, err := topology.Source(name)
	if err != nil {
		return list
	}
	head := machineHead.FindStringSubmatch(text)
	if head == nil {
		return list
	}
	for param := range strings.SplitSeq(head[1], ",") {
		if name, value, ok := strings.Cut(param, "="); ok {
			list = append(list, CatalogParam{strings.TrimSpace(name), strings.TrimSpace(value)})
		}
	}
	return list
}

// CatalogText returns the text of a program of the catalog or, where program is "", of a machine.
func CatalogText(program, machine string) (string, error) {
	if program == "" {
		text, err := topology.Source(machine)
		if err != nil {
			return "", fmt.Errorf("mscclc knows no machine %s", machine)
		}
		return text, nil
	}
	text, err := algorithms.Open(program)
	if err != nil {
		return "", fmt.Errorf("the catalog has no %s", program)
	}
	return string(text), nil
}
