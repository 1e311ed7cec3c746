package tunecmd

import (
	"fmt"
	"image/color"
	"io"
	"math"

	"mscclc/bench"
	"mscclc/bundle"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/tuned"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// The picture has a panel for each number of ranks and kind of launches. A curve is a collective's gain over NCCL by
// the size of calls; 1 is NCCL.
const panelWidth, panelHeight = 14 * vg.Centimeter, 9 * vg.Centimeter

// colours are told apart by those who see few colours, too (Okabe and Ito).
var colours = []color.Color{
	color.RGBA{R: 0xd5, G: 0x5e, A: 0xff}, color.RGBA{G: 0x72, B: 0xb2, A: 0xff}, color.RGBA{G: 0x9e, B: 0x73, A: 0xff},
	color.RGBA{R: 0xcc, G: 0x79, B: 0xa7, A: 0xff}, color.RGBA{R: 0xe6, G: 0x9f, A: 0xff},
	color.RGBA{R: 0x56, G: 0xb4, B: 0xe9, A: 0xff}, color.RGBA{R: 0x80, G: 0x80, B: 0x80, A: 0xff}, color.Black}

// A panel is a part of the picture.
type panel struct {
	ranks int
	nodes string
	when  string
}

// drawPicture draws the gains over NCCL. File tells by its ending whether as SVG or as PNG.
func drawPicture(w io.Writer, file string, device string, times []tuned.Time) error {
	var panels []panel
	seen := map[panel]bool{}
	for _, t := range times {
		for _, when := range []string{bundle.Captured, bundle.Eager} {
			if p := (panel{t.Ranks, t.Nodes, when}); t.NCCLMicros > 0 && !seen[p] {
				seen[p] = true
				panels = append(panels, p)
			}
		}
	}
	if len(panels) == 0 {
		return cli.Usagef("NCCL was not measured, and --plot draws how many times as fast as NCCL calls run")
	}
	rows := (len(panels) + 1) / 2
	width, height := 2*panelWidth, vg.Length(rows)*panelHeight
	paint := func(c draw.Canvas) error {
		c.FillPolygon(color.White, []vg.Point{c.Min, {X: c.Max.X, Y: c.Min.Y}, c.Max, {X: c.Min.X, Y: c.Max.Y}})
		for i, of := range panels {
			p, err := of.plot(device, times)
			if err != nil {
				return err
			}
			x, y := panelWidth*vg.Length(i%2), panelHeight*vg.Length(rows-1-i/2)
			const gap = 3 * vg.Millimeter
			p.Draw(draw.Crop(c, x+gap, x+panelWidth-gap-width, y+gap, y+panelHeight-gap-height))
		}
		return nil
	}
	return bench.Paint(w, file, width, height, paint)
}

// plot returns the curves of a panel.
func (of panel) plot(device string, times []tuned.Time) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = fmt.Sprintf("%s ranks of %s, %s", ranksText(of.ranks, of.nodes), device, of.when)
	p.X.Label.Text, p.Y.Label.Text = "bytes", "times as fast as NCCL"
	p.X.Scale = plot.LogScale{}
	p.Legend.Top, p.Legend.ThumbnailWidth = true, vg.Centimeter
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = math.Inf(1), 0, 0, 1.5
	for i, kind := range bundle.Kinds {
		for _, windows := range [2]bool{false, true} {
			var points plotter.XYs
			for j := range times {
				t := &times[j]
				if t.Collective == kind.String() && t.Ranks == of.ranks && t.Nodes == of.nodes && t.When == of.when &&
					t.Windows == windows && t.Gain() > 0 {
					points = append(points, plotter.XY{X: float64(t.Bytes), Y: t.Gain()})
					p.X.Min, p.X.Max = min(p.X.Min, float64(t.Bytes)), max(p.X.Max, float64(t.Bytes))
					p.Y.Max = max(p.Y.Max, t.Gain()*1.1)
				}
			}
			if len(points) == 0 {
				continue
			}
			line, marks, err := plotter.NewLinePoints(points)
			if err != nil {
				return nil, err
			}
			line.Color, line.Width = colours[i%len(colours)], vg.Points(1.2)
			name := kind.String()
			if windows {
				line.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
				name += ", windows"
			}
			marks.Color, marks.Radius, marks.Shape = line.Color, vg.Points(1.5), draw.CircleGlyph{}
			p.Add(line, marks)
			p.Legend.Add(name, line)
		}
	}
	if p.X.Max == 0 {
		p.X.Min, p.X.Max = firstSize, 256<<20
	}
	one, err := plotter.NewLine(plotter.XYs{{X: p.X.Min, Y: 1}, {X: p.X.Max, Y: 1}})
	if err != nil {
		return nil, err
	}
	one.Color = color.Gray{Y: 0xb0}
	p.Add(one)
	p.X.Tick.Marker = sizeTicks{p.X.Max}
	p.X.Max *= math.Pow(p.X.Max/p.X.Min, 0.5) // room for the legend
	return p, nil
}

// sizeTicks marks each fourth power of two up to the last size.
type sizeTicks struct{ last float64 }

// Ticks implements plot.Ticker.
func (t sizeTicks) Ticks(least, _ float64) (list []plot.Tick) {
	for bytes := int64(1); float64(bytes) <= t.last; bytes *= 4 {
		if float64(bytes) >= least {
			list = append(list, plot.Tick{Value: float64(bytes), Label: cli.SizeText(bytes)})
		}
	}
	return list
}
