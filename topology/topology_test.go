package topology

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"mscclc/ir/diag"
)

func open(t *testing.T, spec string) *Topology {
	t.Helper()
	topo, err := Open(spec)
	if err != nil {
		t.Fatalf("%s: %v", spec, err)
	}
	return topo
}

// route returns the path between two ranks as the classes of its links.
func route(topo *Topology, r *Router, from, to int) string {
	var words []string
	for _, l := range r.Route(nil, from, to) {
		words = append(words, topo.Classes[topo.Links[l].Class].Name)
	}
	return strings.Join(words, " ")
}

func TestMachines(t *testing.T) {
	if len(Names()) < 6 {
		t.Fatalf("%d machines", len(Names()))
	}
	for _, name := range Names() {
		topo := open(t, name+":nodes=2")
		if topo.Name != name || topo.Doc == "" || topo.Device == "" || topo.Ranks() != 2*topo.GPUs {
			t.Errorf("%s: name %q, doc %q, device %q, %d ranks of %d GPUs", name, topo.Name, topo.Doc, topo.Device,
				topo.Ranks(), topo.GPUs)
		}
		r := NewRouter(topo)
		for from := range topo.Ranks() {
			for to := range topo.Ranks() {
				path := r.Route(nil, from, to)
				network := false
				at := int32(from)
				for _, l := range path {
					if topo.Links[l].From != at {
						t.Fatalf("%s: the way from %d to %d is broken", name, from, to)
					}
					at = topo.Links[l].To
					network = network || topo.Classes[topo.Links[l].Class].Network
				}
				if at != int32(to) || network != (from/topo.GPUs != to/topo.GPUs) {
					t.Fatalf("%s: the way from %d to %d ends at %v, through the network %v", name, from, to, topo.Places[at], network)
				}
			}
		}
	}
}

func TestRoutes(t *testing.T) {
	for _, c := range []struct {
		spec     string
		from, to int
		want     string
	}{
		{"h200", 0, 7, "nvlink nvlink"},
		{"h200:nodes=2", 0, 8, "pcie ib ib pcie"},
		{"dgx_h100:nodes=2", 0, 9, "pcie ib ib ib ib pcie"},
		{"ndv4:nodes=2", 1, 15, "pcie pcie ib ib pcie pcie"},
		{"ndv4", 0, 1, "nvlink nvlink"}, // though they share a PCIe switch
		{"mi300x", 3, 5, "xgmi"},
		{"fat_tree:nodes=32", 0, 9, "pcie ib ib pcie"},
		{"fat_tree:nodes=32", 0, 255, "pcie ib ib ib ib pcie"},
	} {
		topo := open(t, c.spec)
		if got := route(topo, NewRouter(topo), c.from, c.to); got != c.want {
			t.Errorf("%s: %d to %d by %q, not %q", c.spec, c.from, c.to, got, c.want)
		}
	}
}

// TestSpines holds that a fat tree's traffic to different ranks goes by different spines.
func TestSpines(t *testing.T) {
	topo := open(t, "fat_tree:nodes=32,spines=4")
	r := NewRouter(topo)
	spines := map[int32]int{}
	for to := 128; to < 256; to++ {
		for _, l := range r.Route(nil, 0, to) {
			if p := topo.Places[topo.Links[l].To]; p.Group == "spine" {
				spines[topo.Links[l].To]++
			}
		}
	}
	for s, n := range spines {
		if n != 32 {
			t.Errorf("%v has %d of 128 ways", topo.Places[s], n)
		}
	}
	if len(spines) != 4 {
		t.Errorf("%d spines are used", len(spines))
	}
}

const good = "topology t(nodes = 1, k = 4)\nclass a 1us 1GB/s\nnode {\n gpu k\n switch s\n link gpu[i] s a\n}\n"

func TestErrors(t *testing.T) {
	if _, err := Read("t.topo", strings.NewReader(good), nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ text, want string }{
		{"", "[syntax]"},
		{"topology t\n", "t has no GPUs"},
		{strings.Replace(good, "1us", "1GB/s", 1), "2:9: error: 1GB/s is not a latency"},
		{strings.Replace(good, "1us", "0.3zs", 1), "2:9: error: 0.3zs is not a latency"},
		{strings.Replace(good, "1us", "0.3", 1), "2:9: error: 0.3 is not a latency"},
		{strings.Replace(good, "1GB/s", "50GBps", 1), "2:13: error: 50GBps is not a bandwidth"},
		{strings.Replace(good, "1GB/s", "2us", 1), "2us is not a bandwidth"},
		{strings.Replace(good, "gpu k", "gpu 0", 1), "gpu has 0 members"},
		{strings.Replace(good, "gpu k", "gpu k / 0", 1), "a division by 0"},
		{strings.Replace(good, "gpu k", "gpu k * 1000000000", 1), "too large"},
		{strings.Replace(good, "gpu k", "gpu 99999999999999999999", 1), "4:"},
		{strings.Replace(good, "gpu[i] s a", "gpu s a", 1), "gpu has more than one member: gpu[i] is each"},
		{strings.Replace(good, "gpu[i] s a", "gpu[i] s[i] a", 1), "s[1] is none of 1, for gpu[1] of node 0"},
		{strings.Replace(good, "gpu[i] s a", "gpu[i] s[j] a", 1), "j is no parameter"},
		{strings.Replace(good, "gpu[i] s a", "gpu[i] t a", 1), "t is no group"},
		{strings.Replace(good, "gpu[i] s a", "gpu[i] s b", 1), "b is no class"},
		{strings.Replace(good, "gpu[i] s a", "gpu[i] gpu[i] a", 1), "node 0 gpu[0] is linked with itself"},
		{strings.Replace(good, "gpu[i] s a", "gpu[i] s a x 0", 1), "a link of width 0"},
		{good + "link gpu[i] s a x 2\nswitch s\n", "s is there already"},
		{good + "switch r 2\nlink r[i] gpu[i] a\n", "write r last"},
		{good + "gpu 8\n", "GPUs lie in node's braces"},
		{strings.Repeat("(", 200), "nested more than 100 deep"},
		{strings.Repeat("#", maxFile+1), "more than 64 KiB, the most that is read of a topology"},
	} {
		_, err := Read("t.topo", strings.NewReader(c.text), nil)
		var list diag.List
		if !errors.As(err, &list) || !strings.Contains(fmt.Sprint([]diag.Diagnostic(list)), c.want) {
			t.Errorf("%.60q: %v, not %q", c.text, err, c.want)
		}
	}
	for spec, want := range map[string]string{
		"h2000":                 "neither a machine that mscclc knows",
		"h200:gpu=4":            "h200 has no parameter gpu",
		"h200:nodes":            "not name=number",
		"h200:nodes=2:gpus=4":   "commas separate parameters: h200:nodes=2,gpus=4",
		"h200:nodes=0":          "may have 1 to",
		"none.topo":             "no such file",
		"fat_tree:nodes=100000": "members in each of 100000",
	} {
		var list diag.List
		if _, err := Open(spec); !errors.As(err, &list) || !strings.Contains(fmt.Sprint(err)+list[0].Hint, want) {
			t.Errorf("%s: %v, not %q", spec, err, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range Names() {
		text, err := machines.ReadFile("machines/" + name + ".topo")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		topo, err := Read("x.topo", strings.NewReader(text), nil)
		if err != nil {
			return
		}
		if topo.Ranks() < 1 || topo.Ranks() > len(topo.Places) {
			t.Fatalf("%d ranks of %d places", topo.Ranks(), len(topo.Places))
		}
		for i, p := range topo.Places {
			if (p.Kind == GPU) != (i < topo.Ranks()) {
				t.Fatalf("place %d is %v", i, p)
			}
		}
		NewRouter(topo).Route(nil, 0, topo.Ranks()-1)
	})
}

// TestNodesDiffer reads machines whose nodes are not alike.
func TestNodesDiffer(t *testing.T) {
	const text = `topology asym(nodes = 2)
class nvlink 0.3us 365GB/s
class pcie 0.5us 50GB/s
class fast 1.2us 400Gb/s network
class slow 2.0us 100Gb/s network
node {
    gpu 4
    nic 2 - node
    switch nvswitch
    link gpu[i] nvswitch nvlink
    link gpu[i] nic[i / 2] pcie
}
switch tor
link nic[0] tor fast
link nic[1] tor slow
`
	topo, err := Read("asym.topo", strings.NewReader(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	r := NewRouter(topo)
	for pair, want := range map[[2]int]string{{0, 4}: "pcie fast fast pcie", {3, 7}: "pcie slow fast pcie", {7, 3}: "pcie fast slow pcie"} {
		if got := route(topo, r, pair[0], pair[1]); got != want {
			t.Errorf("%d to %d by %s, not %s", pair[0], pair[1], got, want)
		}
	}
	const note = "nodes have fewer of nic than others: a link to one that a node lacks leads to its last one (2: gpu[2] of node 1, gpu[3] of node 1)"
	if len(topo.Notes) != 1 || topo.Notes[0].Text != note || topo.Notes[0].Line != 11 {
		t.Errorf("notes: %v", topo.Notes)
	}
	slow := strings.NewReplacer("2 - node", "1", "nic[i / 2]", "nic", "link nic[0] tor fast", "link nic[0] tor fast x 1 - node",
		"link nic[1] tor slow", "link nic[0] tor slow x node").Replace(text)
	if topo, err = Read("slow.topo", strings.NewReader(slow), nil); err != nil {
		t.Fatal(err)
	}
	if got := route(topo, NewRouter(topo), 0, 4); got != "pcie fast slow pcie" || len(topo.Notes) > 0 {
		t.Errorf("by %s, notes %v", got, topo.Notes)
	}
	for old, with := range map[string]string{"gpu 4": "gpu 4 - node", "nic 2 - node": "nic 2 - 3 * node", "nic[i / 2]": "nic[i]", "switch tor": "switch tor node + 1"} {
		if _, err := Read("x.topo", strings.NewReader(strings.Replace(text, old, with, 1)), nil); err == nil {
			t.Errorf("%q is taken", with)
		}
	}
	if topo, err = Read("x.topo", strings.NewReader(strings.Replace(text, "nic 2 - node", "nic 2 - 2 * node", 1)), nil); err != nil || len(topo.Notes) != 1 {
		t.Errorf("a node without NIC: %v", err)
	}
}

// TestDeviceOf finds devices by the names that drivers have for GPUs.
func TestDeviceOf(t *testing.T) {
	for name, want := range map[string]string{
		"NVIDIA H200": "h200", "NVIDIA GB200": "gb200", "NVIDIA B200": "b200", "NVIDIA H100 80GB HBM3": "h100",
		"NVIDIA H100 80GB HBM3 MIG 1g.10gb": "nvidia h100 80gb hbm3 mig 1g.10gb", "AMD Instinct MI355X": "mi355x",
		"Tesla V100-SXM2-32GB": "v100", "Abacus": "abacus", "": "",
	} {
		if got := DeviceOf(name); got != want {
			t.Errorf("%q is %q, not %q", name, got, want)
		}
	}
}

// TestJoined holds that links of one class between the same vertices are one link, as wide as all, in both directions.
func TestJoined(t *testing.T) {
	const head = "topology t\ndevice h200\nclass a 1us 10GB/s\nclass b 1us 10GB/s\nnode {\n gpu 2\n"
	for links, want := range map[string]int32{
		" link gpu[0] gpu[1] a\n link gpu[1] gpu[0] a x 2\n": 3,
		" link gpu[i] gpu[1 - i] a\n":                        2,
		" link gpu[0] gpu[1] a\n link gpu[0] gpu[1] b\n":     1,
	} {
		topo, err := Read("t.topo", strings.NewReader(head+links+"}\n"), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range topo.Links {
			if l.Width != want {
				t.Errorf("%q: %+v", links, topo.Links)
			}
		}
	}
}

// TestWholeLines: lines arrive at once where NVLink joins all GPUs of a node, and none where these are apart.
func TestWholeLines(t *testing.T) {
	for machine, want := range map[string]bool{"h200": true, "h200:gpus=1": true, "dgx2": true, "pcie_4gpu": false,
		"h100_nvl_4gpu": false, "pcie_8gpu:apart=1": false} {
		topo, err := Open(machine)
		if err != nil {
			t.Fatal(err)
		}
		if got := topo.WholeLines(); got != want {
			t.Errorf("%s: whole lines %v, want %v", machine, got, want)
		}
		if apart := strings.HasSuffix(machine, "apart=1"); topo.Apart != apart {
			t.Errorf("%s: apart %v", machine, topo.Apart)
		}
	}
}
