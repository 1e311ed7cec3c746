package nccl

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"mscclc/internal/covering"
	"mscclc/ir/diag"
	"mscclc/topology"
)

// gpuXML is a PCI device with a GPU, on bus 0000:BUS:00.0.
func gpuXML(bus, attrs, links string) string {
	return fmt.Sprintf(`<pci busid="0000:%s:00.0" class="0x030200" vendor="0x10de" device="0x20b0" link_speed="16.0 GT/s PCIe"`+
		` link_width="16"><gpu dev="0" sm="80" gdr="1" %s>%s</gpu></pci>`, bus, attrs, links)
}

// cpuXML is a processor with what lies under it.
func cpuXML(attrs, under string) string {
	return `<cpu numaid="0" arch="x86_64" vendor="AuthenticAMD" ` + attrs + `>` + under + `</cpu>`
}

// cpusXML is a number of processors, a number on each host, with what lies under each.
func cpusXML(count, each int, under string) string {
	var b strings.Builder
	for i := range count {
		fmt.Fprintf(&b, `<cpu host_hash="%x">%s</cpu>`, i/each, under)
	}
	return b.String()
}

func systemXML(in string) string { return `<system version="1">` + in + `</system>` }

func nvlinkXML(bus, count, tclass string) string {
	return fmt.Sprintf(`<nvlink target="0000:%s:00.0" count="%s" tclass="%s"/>`, bus, count, tclass)
}

const (
	toGPU    = "0x030200"
	toSwitch = "0x068000"
	toCPU    = "0x068001"
)

// readNCCL reads a file, and returns its links as text, each once, with the notes after them.
func readNCCL(t *testing.T, text, device string) (*topology.Topology, string) {
	t.Helper()
	topo, err := Read("x.xml", strings.NewReader(text), nil, device)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var b strings.Builder
	for i := 0; i < len(topo.Links); i += 2 {
		fmt.Fprintln(&b, topo.LinkName(int32(i)))
	}
	for _, n := range topo.Notes {
		fmt.Fprintf(&b, "note %d: %s\n", n.Line, n.Text)
	}
	return topo, b.String()
}

// TestNCCLFound reads what files of NCCL's have, one thing in each. Each must count, or be in a note.
func TestNCCLFound(t *testing.T) {
	two := func(a, b string) string {
		return systemXML(cpuXML("", gpuXML("06", `rank="0"`, a)+gpuXML("07", `rank="1"`, b)))
	}
	nic := func(net string) string {
		return systemXML(cpuXML("", gpuXML("06", `rank="0"`, "")+`<nic>`+net+`</nic>`))
	}
	pci := func(attrs string) string {
		return systemXML(cpuXML("", `<pci busid="0000:06:00.0" class="0x030200" `+attrs+`><gpu dev="0" sm="80" rank="0"/></pci>`))
	}
	for _, c := range []struct {
		name, text string
		ranks      int
		want       []string // of the links and the notes
	}{
		{"one without rank", systemXML(cpuXML("", gpuXML("06", `rank="0"`, nvlinkXML("07", "4", toGPU))+gpuXML("07", "", nvlinkXML("06", "4", toGPU)))), 1,
			[]string{"GPUs without rank are left out, as others have one (1: 0000:07:00.0)", "are left out too (1: 0000:07:00.0)"}},
		{"NVLink that both ends say", two(nvlinkXML("07", "1", toGPU), nvlinkXML("06", "1", toGPU)), 2,
			[]string{"gpu[0] to node 0 gpu[1] (nvlink_20)"}},
		{"rank -1", systemXML(cpuXML("", gpuXML("06", `rank="0"`, "")+gpuXML("07", `rank="-1"`, ""))), 1,
			[]string{"a rank that is no number from 0 on (1: -1)", "GPUs without rank are left out"}},
		{"no ranks",
			systemXML(cpuXML("", gpuXML("0a", "", nvlinkXML("06", "2", toGPU))+gpuXML("06", "", nvlinkXML("0A", "2", toGPU)))), 2,
			[]string{"gpu[1] to node 0 gpu[0] (nvlink_20 x 2)"}},
		{"one rank twice", systemXML(cpuXML("", gpuXML("06", `rank="0"`, "")+gpuXML("07", `rank="0"`, ""))), 2,
			[]string{"GPUs have the rank of another one"}},
		{"NVLink to a missing GPU", two(nvlinkXML("0a", "2", toGPU), ""), 2,
			[]string{"are left out too (1: 0000:0a:00.0)"}},
		{"xGMI to a missing GPU", two(`<xgmi target="0000:0a:00.0" count="1" tclass="0x120000"/>`, ""), 2,
			[]string{"are left out too (1: 0000:0a:00.0)"}},
		{"xGMI and NVLink", two(nvlinkXML("07", "2", toGPU), `<xgmi target="0000:06:00.0" count="1" tclass="0x120000"/>`), 2,
			[]string{"(nvlink_20 x 2)", "(xgmi_24)", "the two ends of links between GPUs differ in their count: the larger is taken (2)"}},
		{"one end says it", two("", nvlinkXML("06", "3", toGPU)), 2,
			[]string{"(nvlink_20 x 3)", "the two ends of links"}},
		{"NVLink to a CPU", two(nvlinkXML("ff", "2", toCPU), ""), 2,
			[]string{"node 0 gpu[0] to node 0 cpu[0] (nvlink_20 x 2)"}},
		{"a switch that is not listed", two(nvlinkXML("ff", "6", toSwitch), nvlinkXML("fe", "6", toSwitch)+nvlinkXML("fd", "6", toSwitch)), 2,
			[]string{"gpu[0] to node 0 nvswitch[0] (nvlink_20 x 6)", "gpu[1] to node 0 nvswitch[0] (nvlink_20 x 12)"}},
		{"no tclass", two(`<nvlink target="x" count="1"/>`, ""), 2,
			[]string{"(nvlink_20)", "tclass is of no GPU, switch or processor"}},
		{"no count", two(`<nvlink target="0000:07:00.0" tclass="0x030200"/>`, ""), 2,
			[]string{`links are left out whose count is not from 1 to 1048576 (1: <nvlink count="">)`}},
		{"a huge count", two(nvlinkXML("07", "99999999999999999999", toGPU), nvlinkXML("06", "0", toGPU)), 2,
			[]string{"links are left out whose count is not from 1 to 1048576 (2: "}},
		{"no speed", nic(`<net name="a" dev="0"/><net name="b" dev="1" speed="-1"/><net name="c" dev="2" speed="0"/><net name="d" dev="3" speed="fast"/>`), 1,
			[]string{"(net_1)", "network ports have no speed from 1 to 2147483647 Mb/s: 10 Gb/s is taken, as NCCL does (4: a, b, c, d)"}},
		{"the highest speed", nic(`<net name="a" dev="0" speed="2147483647"/>`), 1, []string{"(net_268435)"}},
		{"a speed above", nic(`<net name="a" dev="0" speed="2147483648"/>`), 1, []string{"10 Gb/s is taken"}},
		{"a speed with more after it", nic(`<net name="a" dev="0" speed="100000abc"/>`), 1,
			[]string{"(net_12)", `numbers are read as NCCL reads them: the digits that come first, octal after 0, 32 bits (1: speed="100000abc" is 100000)`}},
		{"a speed in floating point", nic(`<net name="a" dev="0" speed="1e5"/>`), 1, []string{"(net_0.125M)", `speed="1e5" is 1`}},
		{"an octal speed", nic(`<net name="a" dev="0" speed="0100000"/>`), 1, []string{"(net_4)", `speed="0100000" is 32768`}},
		{"a speed of more than 32 bits", nic(`<net name="a" dev="0" speed="4294967312"/>`), 1, []string{"(net_2M)", `is 16`}},
		{"a speed with a point", nic(`<net name="a" dev="0" speed=" 100000.0"/>`), 1, []string{"(net_12)"}},
		{"a speed with a fraction", nic(`<net name="a" dev="0" speed="100000.5"/>`), 1, []string{"(net_12)", `is 100000`}},
		{"a hexadecimal speed", nic(`<net name="a" dev="0" speed="0x61A80"/>`), 1, []string{"(net_50)"}},
		{"a bus twice", systemXML(cpuXML("", gpuXML("06", `rank="0"`, nvlinkXML("06", "1", toGPU))+gpuXML("06", `rank="1"`, ""))), 2,
			[]string{"PCI devices have the bus of another one", "are left out too (1: 0000:06:00.0)"}},
		{"no dev", nic(`<net name="a" speed="100000"/>`), 1,
			[]string{"<net> without dev are left out, as NCCL does (1: a)"}},
		{"no net", nic(`<net name="a" dev="0" net="0" gin="1" speed="100000"/>`), 1,
			[]string{`<net> with net="0" are left out`}},
		{"width 0", pci(`link_speed="8.0 GT/s PCIe" link_width="0"`), 1, []string{"(pcie_13)", "16 lanes are taken"}},
		{"width absent", pci(`link_speed="8.0 GT/s PCIe"`), 1, []string{"(pcie_13)", "16 lanes are taken"}},
		{"width silly", pci(`link_speed="8.0 GT/s PCIe" link_width="4096"`), 1,
			[]string{"(pcie_13)", "16 lanes are taken"}},
		{"speed unknown", pci(`link_speed="Unknown" link_width="8"`), 1,
			[]string{"(pcie_6)", "6 Gb/s a lane are taken"}},
		{"speed NaN", pci(`link_speed="NaN GT/s" link_width="8"`), 1,
			[]string{"(pcie_6)", "6 Gb/s a lane are taken"}},
		{"several GPUs in a device", systemXML(cpuXML("", `<pci busid="0000:06:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">`+
			`<gpu dev="0" sm="80" rank="0">`+nvlinkXML("07", "4", toGPU)+`</gpu><gpu dev="0" sm="80" rank="1">`+nvlinkXML("07", "4", toGPU)+`</gpu></pci>`+
			gpuXML("07", `rank="2"`, nvlinkXML("06", "4", toGPU)))), 3,
			[]string{"node 0 device[0] to node 0 gpu[0] (local)", "device[0] to node 0 gpu[1] (local)", "cpu[0] to node 0 device[0] (pcie_26)",
				"device[0] to node 0 gpu[2] (nvlink_20 x 4)"}},
		{"C2C", two(`<c2c bw="44712" count="5"/>`, `<c2c bw="43125" count="7"/>`), 2,
			[]string{"gpu[0] to node 0 cpu[0] (c2c_224)", "gpu[1] to node 0 cpu[0] (c2c_302)"}},
		{"C2C of no links", two(`<c2c bw="44712" count="0"/>`, `<c2c bw="44712"/>`), 2,
			[]string{"links are left out whose count is not from 1 to 1048576 (2: "}},
		{"C2C of no bandwidth", two(`<c2c count="2"/>`, `<c2c bw="-5" count="2"/>`), 2,
			[]string{"<c2c> are left out whose bw"}},
		{"several systems", systemXML(cpuXML("", gpuXML("06", `rank="0"`, ""))) + systemXML(cpuXML("", gpuXML("06", `rank="1"`, "")+gpuXML("07", `rank="2"`, ""))), 1,
			[]string{"NCCL takes the first <system> of a file, and others are left out (1: 2 GPUs)"}},
		{"nested switches", systemXML(cpuXML("", strings.Repeat(`<pci busid="0000:01:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="16">`, 40)+
			gpuXML("06", `rank="0"`, "")+strings.Repeat("</pci>", 40))), 1, []string{"pci[39] to node 0 gpu[0]"}},
		{"a switch's own link", systemXML(cpuXML("", `<pci busid="0000:01:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="16">`+
			`<pcilink target="0000:02:00.0"/><pcilink target="0000:03:00.0"/>`+gpuXML("06", `rank="0"`, "")+`</pci>`+
			`<pci busid="0000:02:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="16"><pcilink target="0000:01:00.0"/></pci>`)), 1,
			[]string{"pci[0] to node 0 pci[1] (local)", "<pcilink> to PCI switches that are not there are left out (1: 0000:03:00.0)"}},
		{"a GPU elsewhere", systemXML(cpuXML("", gpuXML("06", `rank="0"`, "")+`<gpu rank="1"/>`) + gpuXML("07", `rank="2"`, "")), 1,
			[]string{"elements are left out that lie where NCCL does not look (3: <gpu> in <cpu>, <pci> in <system>, <gpu> in <pci>)"}},
		{"a GPU without <gpu>", systemXML(cpuXML("", gpuXML("06", `rank="0"`, "")+`<pci busid="0000:07:00.0" class="0x030200"/>`)), 1,
			[]string{"GPUs without <gpu> are left out (1: 0000:07:00.0)"}},
		{"ports of a card", systemXML(cpuXML("", gpuXML("06", `rank="0"`, "")+`<pci busid="0000:07:00.0" class="0x020000" link_speed="8.0 GT/s PCIe" link_width="8"><nic>`+
			`<net name="a" dev="0" speed="100000"/><net name="b" dev="1" speed="100000"/></nic></pci>`)), 1,
			[]string{"cpu[0] to node 0 card[0] (pcie_6)", "card[0] to node 0 nic[0] (local)", "card[0] to node 0 nic[1] (local)"}},
		{"kinds of GPUs", systemXML(cpuXML("", gpuXML("06", `rank="0"`, "")+strings.Replace(gpuXML("07", `rank="1"`, ""), `sm="80"`, `sm="90"`, 1))), 2,
			[]string{"GPUs are of another kind than the first: all are taken for that (1: h100)"}},
		{"no sm", strings.Replace(two(nvlinkXML("07", "1", toGPU), nvlinkXML("06", "1", toGPU)), `sm="80"`, "", 2), 2,
			[]string{"sm of GPUs with NVLinks is unknown", "GPUs have neither sm nor gcn that says what they are (2)"}},
		{"two rates of one name",
			nic(`<net name="a" dev="0" speed="100000"/><net name="b" dev="1" speed="99000"/>`), 1,
			[]string{"(net_12)", "(net_12.375)"}},
	} {
		topo, got := readNCCL(t, c.text, "")
		if topo.Ranks() != c.ranks {
			t.Errorf("%s: %d ranks, not %d", c.name, topo.Ranks(), c.ranks)
		}
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in\n%s", c.name, want, got)
			}
		}
	}
}

// TestNCCLHosts reads files of several hosts: each is a node, in the order of ranks.
func TestNCCLHosts(t *testing.T) {
	topo := open(t, "testdata/gb200_two_trays.xml")
	if topo.Nodes != 2 || topo.GPUs != 4 || topo.Device != "gb200" {
		t.Errorf("%d nodes of %d %s", topo.Nodes, topo.GPUs, topo.Device)
	}
	if got := route(topo, topology.NewRouter(topo), 0, 5); got != "nvlink_40 nvlink_40" {
		t.Errorf("between trays by %s", got)
	}
	if parts := topo.Domains(); parts[0] != parts[7] {
		t.Errorf("trays that NVLink joins are of the parts %v", parts)
	}
	four := open(t, "testdata/gb200_two_trays.xml:nodes=4")
	if parts := four.Domains(); four.Ranks() != 16 || parts[7] != 0 || parts[8] != 1 {
		t.Errorf("%d ranks, of the parts %v", four.Ranks(), parts)
	}
	if got := route(four, topology.NewRouter(four), 0, 8); !strings.Contains(got, "net_50 net_50") {
		t.Errorf("between copies by %s", got)
	}
	if _, err := Open("testdata/gb200_two_trays.xml:nodes=3"); err == nil || !strings.Contains(err.Error(), "the file has 2 hosts") {
		t.Errorf("3 nodes of 2 hosts: %v", err)
	}
	one := func(hash, bus, rank string) string {
		return cpuXML(`host_hash="`+hash+`"`, gpuXML(bus, `rank="`+rank+`"`, ""))
	}
	for text, want := range map[string]int{
		one("0xAB", "06", "0") + one("ab", "07", "1"):                                       1,
		one("0xab", "06", "0") + one("0xcd", "06", "1"):                                     2,
		one("0xab", "06", "0") + strings.Replace(one("", "07", "1"), `host_hash=""`, "", 1): 2,
		one("0xffffffffffffffff", "06", "0") + one("0xfffffffffffffffe", "07", "1"):         2,
	} {
		if topo, _ := readNCCL(t, systemXML(text), ""); topo.Nodes != want || topo.Ranks() != 2 {
			t.Errorf("%d nodes and %d ranks of %s", topo.Nodes, topo.Ranks(), text)
		}
	}
	_, got := readNCCL(t, systemXML(one("first", "06", "0")+one("second", "07", "1")), "")
	if !strings.Contains(got, "a host_hash is no hexadecimal number: such processors are of one host (2: first, second)") {
		t.Error(got)
	}
	_, got = readNCCL(t, systemXML(one("0xa", "06", "0")+one("0xb", "06", "1")+one("0xa", "07", "2")+one("0xb", "07", "3")), "")
	if !strings.Contains(got, "ranks are counted host by host") {
		t.Error(got)
	}
	topo, got = readNCCL(t, systemXML(one("0xa", "06", "0")+one("0xb", "06", "1")+one("0xa", "07", "2")), "")
	if !strings.Contains(got, "hosts have from 1 to 2 GPUs: they are one node here") || topo.Ranks() != 3 || topo.Nodes != 1 {
		t.Errorf("%d nodes\n%s", topo.Nodes, got)
	}
}

// TestNCCLByClass reads a file of a cloud, which names no GPUs.
func TestNCCLByClass(t *testing.T) {
	text := systemXML(cpuXML("", `<pci busid="ffff:ff:01.0" class="0x060400" link_speed="16 GT/s" link_width="16">`+
		`<pci busid="0001:00:00.0" class="0x030200" link_speed="16 GT/s" link_width="16"/>`+
		`<pci busid="0101:00:00.0" class="0x020700" link_speed="16 GT/s" link_width="16"/></pci>`))
	_, err := Read("x.xml", strings.NewReader(text), nil, "")
	var list diag.List
	if !errors.As(err, &list) || !strings.Contains(list[0].Hint, "NCCL_TOPO_DUMP_FILE") || !strings.Contains(list[0].Hint, "--device") {
		t.Errorf("%v", err)
	}
	topo, got := readNCCL(t, text, "a100")
	if topo.Ranks() != 1 || topo.Device != "a100" {
		t.Errorf("%d GPUs of %q", topo.Ranks(), topo.Device)
	}
	for _, want := range []string{"pci[0] to node 0 gpu[0] (pcie_26)", "pci[0] to node 0 nic[0] (pcie_26)", "10 Gb/s is taken",
		"the file says nothing of NVLinks"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// TestNCCLHostile reads files of any size and malice: each ends soon, in an error that names the limit, or in notes.
func TestNCCLHostile(t *testing.T) {
	gpu := gpuXML("06", `rank="0"`, "")
	many := strings.Repeat(nvlinkXML("07", "1", toGPU), 250)
	for name, c := range map[string]struct{ text, want string }{
		"deep":        {"<system>" + strings.Repeat("<pci>", 200), "more than 100 in each other"},
		"wide":        {systemXML(strings.Repeat("<a/>", maxElements)), "more than 65536 elements"},
		"long":        {systemXML(strings.Repeat(" ", maxDump)), "more than 4 MiB"},
		"cut":         {"<system><cpu>" + gpu, "the file ends in <cpu>"},
		"crossed":     {"<system><cpu></system></cpu>", "</system> ends what is not begun there"},
		"processors":  {systemXML(strings.Repeat("<cpu/>", 257)), "more than 256 processors"},
		"hosts":       {systemXML(cpusXML(250*200, 250, "")), "links"},
		"graphs":      {"<graphs/>", "NCCL_TOPO_DUMP_FILE asks for"},
		"no GPU":      {systemXML("<cpu><gpu/></cpu>"), "where NCCL looks for one"},
		"entities":    {systemXML(cpuXML("", gpu+`<nic><net name="a&b" dev="0" speed="1000"/></nic>`)), ""},
		"declaration": {`<?xml version="1.0" encoding="latin-1"?><!-- x -->` + systemXML(cpuXML("", gpu)), ""},
		"attributes":  {systemXML(cpuXML("", strings.Replace(gpu, "<gpu", "<gpu "+strings.Repeat(`a="b" `, 1<<18), 1))), ""},
		"shared links": {systemXML(cpuXML("", `<pci busid="0000:06:00.0" class="0x030200">`+
			strings.Repeat(`<gpu rank="0">`+many+"</gpu>", 200)+"</pci>")), ""},
		"many hosts": {systemXML(cpusXML(256, 1, gpu)), ""},
	} {
		began := time.Now()
		topo, err := Read("x.xml", strings.NewReader(c.text), nil, "")
		if took := time.Since(began); took > covering.Patience(10*time.Second) {
			t.Errorf("%s: %v", name, took)
		}
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want == "" && (len(topo.Notes) > 20 || len(fmt.Sprint(topo.Notes)) > 1<<14):
			t.Errorf("%s: %d notes", name, len(topo.Notes))
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, not %q", name, err, c.want)
		}
	}
}

// TestFiles opens files that have the same extension.
func TestFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, "ncclSystem", systemXML(cpuXML("", gpuXML("06", `rank="0"`, "")+gpuXML("07", `rank="1"`, ""))))
	writeFile(t, "dump.txt", "\ufeff\n <!-- NCCL -->"+systemXML(cpuXML("", gpuXML("06", `rank="0"`, ""))))
	writeFile(t, "mine", "topology mine\nclass a 1us 1GB/s\nnode {\n gpu 3\n link gpu[i] gpu[*] a\n}\n")
	writeFile(t, "h200", "no topology")
	for spec, want := range map[string]int{"ncclSystem": 2, "dump.txt": 1, "mine": 3, "h200:gpus=5": 5, "./ncclSystem:nodes=2": 4} {
		if topo := open(t, spec); topo.Ranks() != want {
			t.Errorf("%s: %d ranks", spec, topo.Ranks())
		}
	}
	if _, err := Open("./h200"); err == nil {
		t.Error("a text is a topology")
	}
}

func TestNCCL(t *testing.T) {
	topo := open(t, "testdata/hgx4.xml:nodes=2")
	if topo.Device != "h100" {
		t.Errorf("its device is %q", topo.Device)
	}
	if topo.Ranks() != 8 || topo.Nodes != 2 {
		t.Fatalf("%d ranks, %d nodes", topo.Ranks(), topo.Nodes)
	}
	r := topology.NewRouter(topo)
	if got := route(topo, r, 0, 3); got != "nvlink_21 nvlink_21" {
		t.Errorf("within a node by %q", got)
	}
	if got := route(topo, r, 0, 4); got != "pcie_51 pcie_51 net_50 net_50 pcie_51 pcie_51" {
		t.Errorf("between nodes by %q", got)
	}
	total := 0.
	for i, l := range topo.Links {
		if l.From == 0 && topo.Places[l.To].Group == "nvswitch" {
			total += topo.Bandwidth(int32(i))
		}
	}
	if total != 18*20.6e3 {
		t.Errorf("GPU 0 has %v bytes/us of NVLink", total)
	}
	// Rank 0 is the GPU that NCCL calls so, which is the last of the file.
	for i, l := range topo.Links {
		if p := topo.Places[l.To]; l.From == 0 && p.Group == "pci" && p.Index != 3 {
			t.Errorf("link %d leads from rank 0 to %v", i, p)
		}
	}
}

// FuzzRead reads any file as one of NCCL's.
func FuzzRead(f *testing.F) {
	dump, err := os.ReadFile("testdata/hgx4.xml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(dump))
	f.Fuzz(func(t *testing.T, text string) {
		topo, err := Read("x.xml", strings.NewReader(text), nil, "")
		if err != nil {
			return
		}
		for i, p := range topo.Places {
			if (p.Kind == topology.GPU) != (i < topo.Ranks()) {
				t.Fatalf("place %d is %v", i, p)
			}
		}
		topology.NewRouter(topo).Route(nil, 0, topo.Ranks()-1)
	})
}

func open(t *testing.T, spec string) *topology.Topology {
	t.Helper()
	topo, err := Open(spec)
	if err != nil {
		t.Fatalf("%s: %v", spec, err)
	}
	return topo
}

// route returns the path between two ranks as the classes of its links.
func route(topo *topology.Topology, r *topology.Router, from, to int) string {
	var words []string
	for _, l := range r.Route(nil, from, to) {
		words = append(words, topo.Classes[topo.Links[l].Class].Name)
	}
	return strings.Join(words, " ")
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
