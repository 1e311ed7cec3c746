package browser

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestNewest changes a choice faster than scenes come: the last one is shown.
func TestNewest(t *testing.T) {
	p := theBench(t).open(t, "")
	p.shown()
	for _, ranks := range []string{"2", "3", "5", "6", "7"} {
		p.choose("#ranks", ranks)
	}
	p.shown()
	if said := p.says(); !strings.Contains(said, "7 ranks") {
		t.Errorf("it says %q", said)
	}
	if rows := evaluate[int](p, `document.querySelectorAll(".chunks tbody tr").length`); rows != 7 {
		t.Errorf("the table has %d ranks", rows)
	}
}

// choose writes a value into an input.
func (p *tab) choose(selector, value string) {
	p.t.Helper()
	evaluate[any](p, `(() => {
  const input = document.querySelector(`+quote(selector)+`);
  input.value = `+quote(value)+`;
  input.dispatchEvent(new Event("input"));
})()`)
}

// TestSlow loses a request, so that its answer takes too long: with a newer text the worker is stopped, and another
// one answers.
func TestSlow(t *testing.T) {
	p := theBench(t).open(t, "")
	p.shown()
	evaluate[any](p, `(() => {
  window.post = Worker.prototype.postMessage;
  window.stop = Worker.prototype.terminate;
  window.lost = window.stopped = 0;
  Worker.prototype.postMessage = function (message) {
    if (typeof message === "string" && message.includes("mscclc/scene")) {
      window.lost++;
    } else {
      window.post.call(this, message);
    }
  };
  Worker.prototype.terminate = function () {
    window.stopped++;
    window.stop.call(this);
  };
})()`)
	p.choose("#ranks", "5")
	p.wait(`window.lost === 1`)
	time.Sleep(2100 * time.Millisecond)
	evaluate[any](p, `Worker.prototype.postMessage = window.post`)
	p.choose("#ranks", "6")
	p.shown()
	if said := p.says(); !strings.Contains(said, "6 ranks") {
		t.Errorf("it says %q", said)
	}
	if stopped := evaluate[int](p, "window.stopped"); stopped != 1 {
		t.Errorf("%d workers were stopped", stopped)
	}
}

// TestLanguage asks the language server for what may be typed, and what an operation does.
func TestLanguage(t *testing.T) {
	p := theBench(t).open(t, "")
	p.shown()
	p.typeAfter("collective allreduce", strings.Repeat(kb.Backspace, len("reduce")))
	if err := chromedp.Do(p.ctx, chromedp.KeyEvent(" ", chromedp.KeyModifiers(chromedp.ModifierCtrl))); err != nil {
		t.Fatal(err)
	}
	p.wait(`[...document.querySelectorAll(".cm-tooltip-autocomplete li")].some((li) => li.textContent.includes("alltoall"))`)
	if err := chromedp.Do(p.ctx, chromedp.KeyEvent(kb.Escape), chromedp.KeyEvent("reduce")); err != nil {
		t.Fatal(err)
	}
	p.shown()
	at := evaluate[[]float64](p, `(() => {
  const word = [...document.querySelectorAll(".cm-line span")].find((s) => s.textContent === "chunk");
  const box = word.getBoundingClientRect();
  return [box.x + box.width / 2, box.y + box.height / 2];
})()`)
	for _, x := range []float64{at[0] - 3, at[0]} {
		if err := chromedp.Do(p.ctx, chromedp.MouseEvent(chromedp.MouseMoved, x, at[1])); err != nil {
			t.Fatal(err)
		}
	}
	p.wait(`document.querySelector(".cm-lsp-hover-tooltip")?.textContent.includes("chunk")`)
}
