package browser

import (
	"bytes"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// snapshot takes a picture of an element. With MSCCLC_UPDATE it goes to docs/img.
func (p *tab) snapshot(selector, name string) {
	p.t.Helper()
	picture, err := chromedp.Run(p.ctx, chromedp.Screenshot(chromedp.CSS(selector)))
	if err != nil {
		p.t.Fatal(err)
	}
	image, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		p.t.Fatal(err)
	}
	size, colours := image.Bounds(), map[[4]uint32]bool{}
	for y := size.Min.Y; y < size.Max.Y; y += 2 {
		for x := size.Min.X; x < size.Max.X; x += 2 {
			r, g, b, a := image.At(x, y).RGBA()
			colours[[4]uint32{r, g, b, a}] = true
		}
	}
	if size.Dx() < 200 || size.Dy() < 100 || len(colours) < 20 {
		p.t.Errorf("%s is a picture of %v with %d colours", name, size, len(colours))
	}
	if os.Getenv("MSCCLC_UPDATE") != "" {
		if err := os.WriteFile(filepath.Join("../../docs/img", "play-"+name+".png"), picture, 0o666); err != nil {
			p.t.Fatal(err)
		}
	}
}

// tall makes the window so high that nothing scrolls.
func (p *tab) tall() {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, chromedp.EmulateViewport(1440, 2400)); err != nil {
		p.t.Fatal(err)
	}
}

// TestSnapshots takes pictures of the page and of each view.
func TestSnapshots(t *testing.T) {
	b := theBench(t)
	p := b.open(t, link(t, map[string]any{"catalog": "allreduce/ring"}))
	p.shown()
	evaluate[any](p, `(() => {
  const slider = document.querySelector("#step");
  slider.value = "4";
  slider.dispatchEvent(new Event("input"));
})()`)
	p.snapshot("body", "page")
	p.tall()
	for _, view := range []string{"machine", "table", "timeline"} {
		p.snapshot("#view-"+view, view)
	}
	text, err := os.ReadFile("../../testdata/doubling.xml")
	if err != nil {
		t.Fatal(err)
	}
	q := b.open(t, link(t, nil, document{"doubling.xml", string(text)}))
	q.shown()
	q.tall()
	q.snapshot(".fault", "deadlock")
	n := b.open(t, link(t, map[string]any{"catalog": "allreduce/hierarchical", "machine": "dgx_h100:nodes=2"}))
	n.shown()
	evaluate[any](n, `document.querySelector("#step").focus()`)
	n.snapshot("#right", "nodes")

}
