package bundle

import (
	"bytes"
	"strings"
	"testing"

	"mscclc/executor/data"
)

// togetherRules are rules over nodes whose replicas share CTAs, or not.
const togetherRules = `{"version": 1, "device": "d", "rules": [
  {"collective":"allgather","ranks":4,"nodes":"2","when":"eager","program":"allgather/multinode_allpairs","protocol":"Simple","lanes":8,"together":4,"tile":4096},
  {"collective":"allgather","ranks":4,"nodes":"2,1,1","when":"eager","program":"allgather/ring","protocol":"Simple","lanes":8,"tile":4096}]}`

func togetherSpec(t *testing.T, text string) Spec {
	t.Helper()
	m, err := ReadRules("together.rules", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return Spec{Device: "d", Ranks: []int{4}, DTypes: []data.DType{data.F16}, Rules: RulesOver(4, []*Measured{m})}
}

// TestTogether: replicas of a lane that only sends share CTAs, so that there is room for more. Sets of such programs
// have images of their own, and others do not. The bundle is read and proven.
func TestTogether(t *testing.T) {
	b, err := Build(togetherSpec(t, togetherRules))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := Build(togetherSpec(t, strings.Replace(togetherRules, `"together":4,`, "", 1)))
	if err != nil {
		t.Fatal(err)
	}
	for i := range b.Sets {
		s, without := &b.Sets[i], &plain.Sets[i]
		if len(s.Rules) == 0 {
			continue
		}
		prefix, more := "net_", false
		if s.Nodes() == "2,2" {
			prefix, more = "together_", true
		}
		if name := b.Images[s.Copier[data.F16]].Name; !strings.HasPrefix(name, prefix) {
			t.Errorf("%s: image %s, want %s", s.Title(), name, prefix)
		}
		r, old := s.Rules[0], without.Rules[0]
		if n := b.CTAs(&r); n > DefaultCTAs || n != s.CTAs {
			t.Errorf("%s: %d CTAs of %d", s.Title(), n, s.CTAs)
		}
		if r.Replicas < old.Replicas || more != (r.Replicas > old.Replicas) {
			t.Errorf("%s: %d replicas, and %d without", s.Title(), r.Replicas, old.Replicas)
		}
	}
	text := Encode(b)
	if got, _, err := Verify("x.bundle", text); err != nil || !bytes.Equal(Encode(got), text) {
		t.Errorf("read other things than written: %v", err)
	}
}

// TestTogetherRefused: what threads cannot be shared, and tables that say other numbers.
func TestTogetherRefused(t *testing.T) {
	for edit, want := range map[string]string{
		`"threads":96,"tile"`: "4 replicas together in a CTA, which cannot share 96 threads evenly",
		`"threads":64,"tile"`: "4 replicas together in a CTA, which cannot share 64 threads evenly",
	} {
		if _, err := Build(togetherSpec(t, strings.Replace(togetherRules, `"tile"`, edit, 1))); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", edit, err)
		}
	}
	for edit, want := range map[string]string{`"together":3`: `"together": 3, and 2 or 4 replicas share a CTA`,
		`"together":5`: "5", `"lanes":1,"together":4`: `"together": 4, which is for several lanes`} {
		text := strings.Replace(strings.Replace(togetherRules, `"lanes":8,"together"`, `"together"`, 1), `"together":4`, edit, 1)
		if !strings.Contains(edit, "lanes") {
			text = strings.Replace(text, edit, `"lanes":8,`+edit, 1)
		}
		if _, err := ReadRules("x.rules", strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", edit, err)
		}
	}
	text := strings.Replace(togetherRules, `"lanes":8,"together"`, `"lanes":2,"together"`, 1)
	if _, err := Build(togetherSpec(t, text)); err == nil ||
		!strings.Contains(err.Error(), `has no lane that only copies to other nodes, so "together": 4 has no effect`) {
		t.Errorf("two lanes: %v", err)
	}
	b, err := Build(togetherSpec(t, togetherRules))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []uint32{3, 8, 2} { // 2 is another number than the source says
		for _, p := range b.Programs {
			for r := range p.Parts {
				for i := range p.Parts[r].Blocks {
					if p.Parts[r].Blocks[i].Together != 0 {
						p.Parts[r].Blocks[i].Together = n
					}
				}
			}
		}
		if _, _, err := Verify("x.bundle", Encode(b)); err == nil {
			t.Errorf("%d replicas together are read", n)
		}
	}
}
