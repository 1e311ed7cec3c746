package mscclc_test

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mscclc"
	"mscclc/algorithms"
	"mscclc/codegen"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/irtest"
	"mscclc/lang"
)

// A rival is a file of another compiler, and the program of ours that does the
// same. Blocks and steps are the file's.
type rival struct {
	file          string
	blocks, steps int
	program       string // a name of the catalog, or a path in this repository
	params        string
	protocol      ir.Protocol
	instances     int
	inplace       bool
	sizes         string // that the file is for; none is below 128 MiB
}

// rivals are all files with verdict ok of the data folder.
var rivals = []rival{
	{"a2a_allpairs_2g_i1_Simple", 4, 6, "alltoall/one_step", "ranks=2", ir.Simple, 1, false, ""},
	{"a2a_allpairs_8g_i1_LL", 112, 120, "alltoall/one_step", "ranks=8", ir.LL, 1, false, ""},
	{"a2a_threestep_3x2_i1_ib1", 36, 90, "alltoall/three_step", "nodes=3 gpus=2", ir.Simple, 1, false, ""},
	{"a2a_twostep_2x4_LL", 64, 152, "alltoall/two_step", "nodes=2 gpus=4", ir.LL, 1, false, ""},
	{"a2a_twostep_2x8_Simple", 256, 624, "alltoall/two_step", "nodes=2 gpus=8", ir.Simple, 1, false, ""},
	{"a2next_bwd_2n_i1", 66, 66, "alltonext/backward", "nodes=2 gpus=8", ir.Simple, 1, false, ""},
	{"ag_allpairs_8g_i1_LL", 56, 112, "allgather/allpairs", "ranks=8", ir.LL, 1, true, ""},
	{"ag_pcie_4g_i1_LL128", 12, 20, "testdata/msccl-xml/gather_pairs.mscl", "", ir.LL128, 1, true, ""},
	{"ag_ring_8g_ch4_i2_Simple", 64, 128, "testdata/msccl-xml/gather_ring_channels.mscl", "ranks=8 channels=4", ir.Simple, 2, true, ""},
	{"ag_simplering_4g", 20, 20, "allgather/ring", "ranks=4", ir.Simple, 1, false, ""},
	{"ar_1step_4g_i1_LL", 16, 116, "allreduce/allpairs_onestep", "ranks=4", ir.LL, 1, true, ""},
	{"ar_a100ring_2g_ch1_i1_Simple", 2, 6, "allreduce/ring", "ranks=2", ir.Simple, 1, true, ""},
	{"ar_a100ring_6g_ch1_i1_LL", 6, 66, "allreduce/ring", "ranks=6", ir.LL, 1, true, ""},
	{"ar_a100ring_8g_ch4_i2_LL128", 64, 240, "testdata/msccl-xml/ring_channels.mscl", "ranks=8 channels=4", ir.LL128, 2, true, ""},
	{"ar_allpairs_4g_i1_LL", 16, 140, "allreduce/allpairs", "ranks=4", ir.LL, 1, true, ""},
	{"ar_allpairs_8g_i1_LL", 64, 1336, "allreduce/allpairs", "ranks=8", ir.LL, 1, true, ""},
	{"ar_allpairsv2_8g_i2_LL", 120, 596, "testdata/msccl-xml/allpairs_tree.mscl", "ranks=8", ir.LL, 2, true, ""},
	{"ar_binomial_8g_t2_i1_Simple", 28, 44, "testdata/msccl-xml/two_binomial_trees.mscl", "ranks=8", ir.Simple, 1, true, ""},
	{"ar_hier_4x2_i1_Simple_auto", 112, 144, "allreduce/hierarchical", "nodes=2 gpus=4", ir.Simple, 1, true, ""},
	{"ar_hier_4x4_i1_LL_manual", 144, 640, "allreduce/hierarchical", "nodes=4 gpus=4", ir.LL, 1, true, ""},
	{"ar_multinode_allpairs_4x2_i1_LL", 48, 280, "allreduce/multinode_allpairs", "nodes=2 gpus=4", ir.LL, 1, true, ""},
	{"ar_ncv4_4g_i1_LL", 12, 28, "testdata/msccl-xml/pairs_of_pairs.mscl", "", ir.LL, 1, true, ""},
	{"ar_ncv4v2_4g_i4_Simple", 64, 64, "testdata/msccl-xml/two_lines.mscl", "", ir.Simple, 4, true, ""},
	{"ar_rhd_8g_i1_LL", 24, 104, "allreduce/recursive_halving_doubling", "ranks=8", ir.LL, 1, true, ""},
	{"ar_simplering_3g_i1", 3, 15, "allreduce/ring", "ranks=3", ir.Simple, 1, true, ""},
	{"ar_simplering_8g_i1", 8, 120, "allreduce/ring", "ranks=8", ir.Simple, 1, true, ""},
	{"ar_simplering_8g_i8", 64, 960, "allreduce/ring", "ranks=8", ir.Simple, 8, true, ""},
	{"custom_collective_1", 4, 4, "testdata/msccl-xml/one_to_two.mscl", "", ir.Simple, 1, false, ""},
	{"rs_allpairs_8g_i1_LL", 112, 216, "reducescatter/allpairs", "ranks=8", ir.LL, 1, true, ""},
	{"rs_ring_8g_i4_Simple", 256, 256, "reducescatter/ring", "ranks=8", ir.Simple, 4, true, ""},
	{"rs_ringoop_4g_i1_LL", 16, 20, "reducescatter/ring", "ranks=4", ir.LL, 1, false, ""},
	{"rccl-all-reduce-ring-ll", 384, 11904, "allreduce/ring", "ranks=16", ir.LL, 24, true, "0..12288"},
	{"rccl-allreduce-allpairs-8n-ll-32tb", 256, 5344, "allreduce/allpairs", "ranks=8", ir.LL, 4, true, "0..65537"},
	{"rccl-allreduce-allpairs-8n-ll-64tb-op", 512, 11200, "allreduce/allpairs", "ranks=8", ir.LL, 8, false, "65537..524288"},
	{"rccl-allreduce-allpairs-8n-simple", 512, 10688, "allreduce/allpairs", "ranks=8", ir.Simple, 8, true, "524288..11534337"},
	{"rccl-alltoall-8n-0-9kb", 120, 120, "alltoall/one_step", "ranks=8", ir.LL, 1, false, "0..9217"},
	{"rccl-alltoall-8n-512kb-7mb", 480, 480, "alltoall/one_step", "ranks=8", ir.Simple, 4, false, "524289..7340033"},
}

// target returns the runtime that the file is for: RCCL's own have no fused receives,
// but for its ring.
func (r *rival) target() string {
	if strings.HasPrefix(r.file, "rccl-all") && r.file != "rccl-all-reduce-ring-ll" {
		return "rccl"
	}
	return "msccl"
}

// compileRival compiles our program for the given sizes; none are those of the
// target.
func compileRival(r *rival, sizes string, target string) (*either.Program, error) {
	open := algorithms.Open
	file := r.program + ".mscl"
	if strings.HasPrefix(r.program, "testdata/") {
		open, file = os.ReadFile, r.program
	}
	text, err := open(file)
	if err != nil {
		return nil, err
	}
	text = regexp.MustCompile(`(?m)^sizes .*$`).ReplaceAll(text, nil)
	if sizes != "" {
		text = regexp.MustCompile(`(?m)^algorithm .*$`).ReplaceAll(text, []byte("$0\nsizes "+sizes))
	}
	t, err := codegen.TargetByName(target)
	if err != nil {
		return nil, err
	}
	opt := mscclc.Options{Target: t}
	opt.Lang.Open, opt.Lang.Inplace, opt.Lang.Protocol = open, &r.inplace, &r.protocol
	opt.Lang.Params = lang.Params{}
	for _, p := range strings.Fields(r.params) {
		name, value, _ := strings.Cut(p, "=")
		opt.Lang.Params[name] = value
	}
	opt.Passes.Instances = r.instances
	return mscclc.Compile(file, text, opt)
}

// TestCompareSteps holds that our programs have no more thread blocks and steps than the files of other compilers, at
// the files' sizes.
func TestCompareSteps(t *testing.T) {
	for i := range rivals {
		r := &rivals[i]
		ours, err := compileRival(r, r.sizes, r.target())
		if err != nil {
			t.Errorf("%s: %v", r.file, err)
		} else if len(ours.Blocks) > r.blocks || len(ours.Steps) > r.steps {
			t.Errorf("%s: %s has %d blocks and %d steps, the file %d and %d", r.file, r.program, len(ours.Blocks),
				len(ours.Steps), r.blocks, r.steps)
		}
	}
}

// checkRivals compares rivals with the programs of other compilers: every file with verdict ok
// must be there, with its numbers.
func checkRivals(t *testing.T) {
	dir := irtest.Others(t, irtest.XML)
	known := map[string]*rival{}
	for i := range rivals {
		known[rivals[i].file+".xml"] = &rivals[i]
	}
	for _, f := range irtest.Table(t, dir) {
		if f.Verdict != "ok" {
			continue
		}
		r := known[f.File]
		if r == nil {
			t.Errorf("%s has verdict ok, and no program of ours is compared with it", f.File)
			continue
		}
		blocks, steps := countXML(t, filepath.Join(dir, f.File))
		if blocks != r.blocks || steps != r.steps {
			t.Errorf("%s has %d blocks and %d steps, and this test says %d and %d", f.File, blocks, steps, r.blocks, r.steps)
		}
	}
}

func countXML(t *testing.T, file string) (blocks, steps int) {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for d := xml.NewDecoder(f); ; {
		token, err := d.Token()
		if token == nil {
			return blocks, steps
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok {
			switch e.Name.Local {
			case "tb":
				blocks++
			case "step":
				steps++
			}
		}
	}
}
