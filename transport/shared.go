package transport

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"sync"
)

// NetVariable names the environment variable that says what carries messages between nodes: ucx, which is the usual, or
// ncclnet:PLUGIN.
const NetVariable = "MSCCLC_NET"

// shared are the proxies of this process, by engine. They are there until it ends.
var shared struct {
	sync.Mutex
	of map[string]*Proxy
}

// Shared returns the proxy of this process with that engine, as Open has it, or else with the one that MSCCLC_NET
// names. UCX's TCP takes only those cards, if there are any: others may lead to none of the job's hosts. A plugin's
// device is the nearest to gpu, the PCI address of a GPU, or "": a plugin is opened once, by the first call. Nobody
// closes the proxy.
func Shared(engine string, cards []string, gpu string) (*Proxy, error) {
	shared.Lock()
	defer shared.Unlock()
	named := ""
	if engine == "" && os.Getenv(NetVariable) != "" {
		named = " (" + NetVariable + ")"
	}
	engine = cmp.Or(engine, os.Getenv(NetVariable), "ucx")
	if engine == "ucx" && len(cards) > 0 {
		engine += ":" + strings.Join(cards, ",")
	}
	if p := shared.of[engine]; p != nil {
		return p, nil
	}
	name := engine
	if kind, plugin, _ := strings.Cut(engine, ":"); kind == "ncclnet" && gpu != "" {
		name = kind + ":" + plugin + "\n" + gpu
	}
	p, err := Open(name)
	if err != nil {
		return nil, fmt.Errorf("the network between nodes, %s%s: %w", engine, named, err)
	}
	if shared.of == nil {
		shared.of = map[string]*Proxy{}
	}
	shared.of[engine] = p
	return p, nil
}
