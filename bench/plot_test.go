package bench

import (
	"bytes"
	"encoding/xml"
	"image/png"
	"io"
	"math"
	"os"
	"regexp"
	"strconv"
	"testing"

	"gonum.org/v1/plot"
)

// Pictures are of their format, and show each curve.
func TestPlot(t *testing.T) {
	r := sample()
	draw := func(name string) []byte {
		var b bytes.Buffer
		if err := r.Plot(&b, name); err != nil {
			t.Fatal(err)
		}
		if dir := os.Getenv("MSCCLC_PICTURES"); dir != "" {
			if err := os.WriteFile(dir+"/"+name, b.Bytes(), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		return b.Bytes()
	}
	svg := draw("a.svg")
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []string{"mscclc, out of place", "mscclc, in place", "NCCL 2.28.9, in place", "1G", "1K",
		"us", "GB/s", "allreduce, 8 x NVIDIA H200, bf16"} {
		if !bytes.Contains(svg, []byte(s)) {
			t.Errorf("the picture does not say %q", s)
		}
	}
	below := textHeight(t, svg, "bytes")
	for _, name := range []string{"mscclc, out of place", "mscclc, in place", "NCCL 2.28.9, out of place",
		"NCCL 2.28.9, in place"} {
		if y := textHeight(t, svg, name); y >= below-5 || y < 2 {
			t.Errorf("the legend %q is %v above the bottom, and the axes end at %v", name, y, below)
		}
	}
	labelsBeforeTicks(t, svg)
	if img, err := png.Decode(bytes.NewReader(draw("a.png"))); err != nil || img.Bounds().Dx() < 500 {
		t.Error(err)
	}
	for _, rows := range [][]*Row{nil, r.Rows[:1], r.Rows[10:], {{Bytes: 0}}} { // no line at all, or of one point
		r.Rows = rows
		draw("b.svg")
	}
}

// labelsBeforeTicks: the labels of the left axis end before its ticks, also with a font that is a fifth wider than that
// by which the drawing is laid out.
func labelsBeforeTicks(t *testing.T, svg []byte) {
	t.Helper()
	number := func(b []byte) float64 {
		x, err := strconv.ParseFloat(string(b), 64)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	ticks := math.Inf(1)
	for _, line := range regexp.MustCompile(`d="M([0-9.]+),([0-9.]+)L([0-9.]+),([0-9.]+)"`).FindAllSubmatch(svg, -1) {
		if length := number(line[3]) - number(line[1]); string(line[2]) == string(line[4]) && length > 3 && length < 12 {
			ticks = min(ticks, number(line[1]))
		}
	}
	labels := 0
	style := plot.New().Y.Tick.Label
	for _, m := range regexp.MustCompile(`<text x="([0-9.]+)"[^>]*>([0-9.]+)<`).FindAllSubmatch(svg, -1) {
		x, width := number(m[1]), float64(style.Width(string(m[2])))
		if x > ticks {
			continue // of another axis
		}
		labels++
		if x+1.2*width > ticks {
			t.Errorf("the label %s from %.1f on, %.1f wide, reaches the ticks at %.1f", m[2], x, width, ticks)
		}
	}
	if labels < 3 {
		t.Errorf("the left axis has %d labels before its ticks at %v", labels, ticks)
	}
}

// textHeight returns how far above the bottom of a drawing its first text that reads so lies.
func textHeight(t *testing.T, svg []byte, text string) (y float64) {
	t.Helper()
	at := regexp.MustCompile(`<text x="[-0-9.]+" y="-([0-9.]+)" transform="scale\(1, -1\)"\s+style="[^"]*">` +
		regexp.QuoteMeta(text) + "<")
	found := at.FindSubmatch(svg)
	if found == nil {
		t.Fatalf("the picture does not say %q", text)
	}
	y, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return y
}
