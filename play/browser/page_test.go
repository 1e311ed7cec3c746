package browser

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"mscclc/internal/covering"
)

// TestReady opens the page, and waits for the first verdict.
func TestReady(t *testing.T) {
	p := theBench(t).open(t, "")
	p.wait(`document.body.dataset.state === "shown"`)
	if said := p.says(); !strings.Contains(said, "Proven") {
		t.Errorf("it says %q", said)
	}
	t.Logf("the first verdict was there %.0f ms after the page was asked for", evaluate[float64](p, "performance.now()"))
}

// typeAfter puts the cursor after a text of the editor, and types there.
func (p *tab) typeAfter(text, typed string) {
	p.t.Helper()
	evaluate[bool](p, `(() => {
  const content = document.querySelector(".cm-content");
  content.focus();
  const walker = document.createTreeWalker(content, NodeFilter.SHOW_ELEMENT);
  for (let line = walker.nextNode(); line; line = walker.nextNode()) {
    const at = line.classList.contains("cm-line") ? line.textContent.indexOf(`+quote(text)+`) : -1;
    if (at >= 0) {
      let left = at + `+quote(text)+`.length;
      const texts = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
      for (let node = texts.nextNode(); node; node = texts.nextNode()) {
        if (left <= node.length) {
          getSelection().collapse(node, left);
          return true;
        }
        left -= node.length;
      }
    }
  }
  throw new Error("the editor has no such text");
})()`)
	if err := chromedp.Do(p.ctx, chromedp.KeyEvent(typed)); err != nil {
		p.t.Fatal(err)
	}
}

// TestEdit changes the ring of eight ranks: a wrong one is rejected, and mended it is proven again. It prints how long
// the verdicts took.
func TestEdit(t *testing.T) {
	p := theBench(t).open(t, "")
	p.shown()
	var took []float64
	for range 5 {
		p.typeAfter("for step in 1..ranks", " - 1")
		p.wait(`document.body.dataset.state === "shown" && document.querySelector(".badge").textContent === "Rejected"`)
		if text := evaluate[string](p, `document.querySelector(".problems").textContent`); !strings.Contains(text, "wrong-result") {
			t.Fatalf("it says %q", text)
		}
		took = append(took, evaluate[float64](p, `Number(document.body.dataset.took)`))
		p.wait(`document.querySelectorAll(".line-bad").length > 0`)
		p.typeAfter("for step in 1..ranks - 1", kb.Backspace+kb.Backspace+kb.Backspace+kb.Backspace)
		p.wait(`document.body.dataset.state === "shown" && document.querySelector(".badge").textContent === "Proven"`)
		took = append(took, evaluate[float64](p, `Number(document.body.dataset.took)`))
	}
	slices.Sort(took)
	t.Logf("the median of the times from a request to its scene is %.0f ms of %v", took[len(took)/2], took)
	if covering.Exact() && took[len(took)/2] > 150 {
		t.Error("it is more than 150 ms")
	}
}

// TestKeys steps with the keyboard.
func TestKeys(t *testing.T) {
	p := theBench(t).open(t, "")
	p.shown()
	evaluate[any](p, `document.querySelector("#step").focus()`)
	last := evaluate[string](p, `document.querySelector("#step").max`)
	for _, k := range []struct{ key, at string }{
		{kb.End, last}, {kb.Home, "0"}, {kb.ArrowRight, "1"}, {kb.ArrowRight, "2"}, {kb.ArrowLeft, "1"},
	} {
		if err := chromedp.Do(p.ctx, chromedp.KeyEvent(k.key)); err != nil {
			t.Fatal(err)
		}
		p.wait(`document.querySelector("#step").value === ` + quote(k.at))
	}
	if said := evaluate[string](p, `document.querySelector("#step").ariaValueText`); !strings.Contains(said, "Step 1 of "+last) {
		t.Errorf("the slider says %q", said)
	}
	if err := chromedp.Do(p.ctx, chromedp.KeyEvent(" ")); err != nil {
		t.Fatal(err)
	}
	p.wait(`document.querySelector("#step").value === ` + quote(last))
	p.wait(`document.querySelector(".controls button[aria-pressed]").ariaPressed === "false"`)
}

// TestLink opens the link that the page makes of a changed program and choices.
func TestLink(t *testing.T) {
	b := theBench(t)
	p := b.open(t, link(t, map[string]any{"machine": "dgx_h100", "bytes": 4096, "params": map[string]string{"ranks": "4"}},
		document{"mine.mscl", mine}))
	p.shown()
	if said := p.says(); !strings.Contains(said, "mine.mscl") || !strings.Contains(said, "4 ranks") {
		t.Errorf("it says %q", said)
	}
	evaluate[any](p, `document.querySelector("#share").click()`)
	p.wait(`location.hash.length > 10 && document.querySelector("#share").textContent !== "Copy link"`)
	q := b.open(t, evaluate[string](p, `location.hash`))
	q.shown()
	if p.says() != q.says() {
		t.Errorf("it says %q, and behind its link %q", p.says(), q.says())
	}
	for _, id := range []string{"#machine", "#bytes", "#ranks"} {
		value := `document.querySelector("` + id + `").value`
		if a, b := evaluate[string](p, value), evaluate[string](q, value); a != b {
			t.Errorf("%s is %q, and behind its link %q", id, a, b)
		}
	}
}

const mine = `algorithm mine(ranks = 6)
collective allgather(ranks)

for r in 0..ranks, q in 0..ranks { chunk(r, input, 0).copy(q, output, r) }
`
