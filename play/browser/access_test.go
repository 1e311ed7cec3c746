package browser

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"mscclc/internal/covering"
)

// accessible runs axe-core, and reports what it finds.
func (p *tab) accessible(b *workbench) {
	p.t.Helper()
	axe, err := os.ReadFile(filepath.Join(b.folder, axeFile))
	if err != nil {
		p.t.Fatal(err)
	}
	if err := chromedp.Do(p.ctx, chromedp.Evaluate[chromedp.Void](string(axe))); err != nil {
		p.t.Fatal(err)
	}
	found := evaluate[string](p, `axe.run(document).then((r) => JSON.stringify({
  passes: r.passes.length,
  violations: r.violations.map((v) => v.id + ": " + v.help + "\n" + v.nodes.slice(0, 5).map((n) =>
    "  " + n.html.slice(0, 200) + "\n  " + n.failureSummary).join("\n")),
}))`)
	var result struct {
		Passes     int      `json:"passes"`
		Violations []string `json:"violations"`
	}
	if err := json.Unmarshal([]byte(found), &result); err != nil {
		p.t.Fatal(err)
	}
	for _, v := range result.Violations {
		p.t.Errorf("axe-core: %s", v)
	}
	if result.Passes < 20 {
		p.t.Errorf("axe-core passed only %d rules", result.Passes)
	}
}

// TestAccess runs axe-core on the page with a right program, in both themes, and with a deadlock, a race and a wrong
// result, which have one theme each by default, and with MSCCLC_TESTS=ci both.
func TestAccess(t *testing.T) {
	b := theBench(t)
	for _, c := range []struct {
		name, file  string
		first, then bool // themes: that of the beginning, and the other one
	}{
		{"proven", "", true, true}, {"deadlock", "../../testdata/doubling.xml", true, false},
		{"race", "../../ir/diag/examples/race.xml", false, true}, {"wrong", "testdata/wrong.mscl", false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			address := ""
			if c.file != "" {
				text, err := os.ReadFile(c.file)
				if err != nil {
					t.Fatal(err)
				}
				address = link(t, nil, document{filepath.Base(c.file), string(text)})
			}
			p := b.open(t, address)
			p.shown()
			p.wait(`document.querySelector(".view") !== null`)
			if c.first || covering.CI() {
				p.accessible(b)
			}
			before := evaluate[string](p, `getComputedStyle(document.body).backgroundColor`)
			evaluate[any](p, `document.querySelector("#theme").click()`)
			if after := evaluate[string](p, `getComputedStyle(document.body).backgroundColor`); after == before {
				t.Errorf("both themes have the background %s", after)
			}
			if c.then || covering.CI() {
				p.accessible(b)
			}
		})
	}
}

// TestLabels asks that each control has a name, and each view, the verdict and the slider a role.
func TestLabels(t *testing.T) {
	p := theBench(t).open(t, "")
	p.shown()
	unnamed := evaluate[[]string](p, `[...document.querySelectorAll("header select, header input:not([hidden]), button")]
  .filter((e) => !e.ariaLabel && !e.labels?.length && !e.textContent.trim()).map((e) => e.outerHTML)`)
	if len(unnamed) > 0 {
		t.Errorf("these have no names: %s", strings.Join(unnamed, "\n"))
	}
	for selector, role := range map[string]string{"#verdict": "status", ".map": "img", ".chart": "img"} {
		if got := evaluate[string](p, `document.querySelector("`+selector+`").getAttribute("role")`); got != role {
			t.Errorf("%s has the role %q, want %q", selector, got, role)
		}
	}
	if live := evaluate[string](p, `document.querySelector("#verdict").ariaLive`); live != "polite" {
		t.Errorf("the verdict is %q", live)
	}
}
