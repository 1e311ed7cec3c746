package bench

import (
	"cmp"
	"fmt"
	"image/color"
	"io"
	"math"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The picture: time of small calls on the left, where a logarithm shows latency,
// bus bandwidth on the right, where it is what counts; sizes are on both. The legend is below both, where no curve is.
const (
	plotWidth    = 26 * vg.Centimeter
	plotHeight   = 12.2 * vg.Centimeter
	legendHeight = 12 * vg.Millimeter
	widerFonts   = 1.25    // a viewer may draw text with a font so much wider than the one that it is measured with
	smallSize    = 4 << 20 // the last size on the left
)

// A curve is one implementation in one placement.
type curve struct {
	name   string
	colour color.Color
	dashed bool
	time   func(*Row) float64 // us, or 0
}

var ourColour, rivalColour = color.RGBA{R: 0xd5, G: 0x5e, A: 0xff}, color.RGBA{G: 0x72, B: 0xb2, A: 0xff}

func (r *Report) curves() (list []curve) {
	for i, place := range [2]string{"out of place", "in place"} {
		ours := func(row *Row) float64 {
			if p := row.places()[i]; p != nil && p.Err == nil {
				return p.Time
			}
			return 0
		}
		rival := func(row *Row) float64 {
			if p := row.places()[i]; p.Ratio() > 0 {
				return p.Rival.Time
			}
			return 0
		}
		list = append(list, curve{"mscclc, " + place, ourColour, i > 0, ours})
		if r.NCCL > 0 {
			list = append(list, curve{"NCCL " + versionText(r.NCCL) + ", " + place, rivalColour, i > 0, rival})
		}
	}
	return list
}

// Plot draws the rows. The ending of file says whether as SVG or as PNG.
func (r *Report) Plot(w io.Writer, file string) error {
	left, right := plot.New(), plot.New()
	plots := [2]*plot.Plot{left, right}
	left.Title.Text = fmt.Sprintf("%v, %d x %s, %s: time", r.Coll.Kind, r.Coll.Ranks, r.Device, r.types())
	right.Title.Text = "bus bandwidth"
	left.Y.Label.Text, right.Y.Label.Text = "us", "GB/s"
	var legends [2]plot.Legend // of calls out of place, and in place
	for i := range legends {
		legends[i] = plot.NewLegend()
		legends[i].Top, legends[i].Left = true, true
		legends[i].ThumbnailWidth, legends[i].Padding = vg.Centimeter, vg.Millimeter
	}
	for _, c := range r.curves() {
		var drawn *plotter.Line
		for _, p := range plots {
			line, err := r.draw(p, c, p == left)
			if err != nil {
				return err
			}
			drawn = cmp.Or(line, drawn)
		}
		switch {
		case drawn == nil:
		case c.dashed:
			legends[1].Add(c.name, drawn)
		default:
			legends[0].Add(c.name, drawn)
		}
	}
	for _, p := range plots {
		r.axes(p)
	}
	left.Y.Scale, left.Y.Tick.Marker = plot.LogScale{}, microTicks{}
	left.Y.Min, left.Y.Max = step125(left.Y.Min, -1), step125(left.Y.Max*1.2, 1)
	right.Y.Min = 0

	return Paint(w, file, plotWidth, plotHeight, func(c draw.Canvas) error {
		compose(c, plots, legends)
		return nil
	})
}

// Paint writes a picture of a size that paint paints. The ending of file says whether as PNG or as SVG.
func Paint(w io.Writer, file string, width, height vg.Length, paint func(draw.Canvas) error) error {
	if strings.EqualFold(filepath.Ext(file), ".png") {
		canvas := vgimg.New(width, height)
		if err := paint(draw.New(canvas)); err != nil {
			return err
		}
		_, err := vgimg.PngCanvas{Canvas: canvas}.WriteTo(w)
		return err
	}
	canvas := vgsvg.New(width, height)
	if err := paint(draw.New(canvas)); err != nil {
		return err
	}
	_, err := canvas.WriteTo(w)
	return err
}

// compose draws two pictures side by side, with a legend below each.
func compose(c draw.Canvas, plots [2]*plot.Plot, legends [2]plot.Legend) {
	low, high := c.Min, c.Max
	c.FillPolygon(color.White, []vg.Point{low, {X: high.X, Y: low.Y}, high, {X: low.X, Y: high.Y}})
	half, gap := plotWidth/2, vg.Millimeter*3
	for i := range plots {
		begin := gap + half*vg.Length(i)
		end := begin + half - 2*gap - plotWidth
		plots[i].Draw(draw.Crop(c, begin, end, gap+legendHeight, -gap))
		legends[i].Draw(draw.Crop(c, begin+vg.Centimeter, end, gap, legendHeight-plotHeight))
	}
}

// draw adds a curve: on the left times of small calls, on the right bandwidths. It returns its line, or nil where the
// curve has no point.
func (r *Report) draw(p *plot.Plot, c curve, left bool) (*plotter.Line, error) {
	var points plotter.XYs
	for _, row := range r.Rows {
		t := c.time(row)
		if t <= 0 || row.Bytes <= 0 || left && row.Bytes > smallSize && r.MinBytes <= smallSize {
			continue
		}
		y := t
		if !left {
			_, y = Bandwidths(r.Coll, row.Bytes, t)
		}
		points = append(points, plotter.XY{X: float64(row.Bytes), Y: y})
	}
	if len(points) == 0 {
		return nil, nil
	}
	line, marks, err := plotter.NewLinePoints(points)
	if err != nil {
		return nil, err
	}
	line.Color, line.Width = c.colour, vg.Points(1.5)
	marks.Color, marks.Shape, marks.Radius = c.colour, draw.CircleGlyph{}, vg.Points(2)
	if c.dashed {
		line.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
	}
	p.Add(line, marks)
	return line, nil
}

// axes gives a picture the axis of sizes, and a grid.
func (r *Report) axes(p *plot.Plot) {
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, sizeTicks{}
	p.X.Label.Text = "bytes"
	for _, axis := range [2]*plot.Axis{&p.X, &p.Y} {
		if math.IsInf(axis.Min, 0) { // no point
			axis.Min, axis.Max = 1, 1
		}
		if axis.Min >= axis.Max { // one point
			axis.Min, axis.Max = axis.Min/2, axis.Max*2
		}
	}
	p.Y.Tick.Label.XAlign *= widerFonts // so that the labels end before the ticks
	p.X.Label.Padding, p.Y.Label.Padding = vg.Millimeter, 3*vg.Millimeter
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{0xe0}, color.Gray{0xe0}
	p.Add(grid)
}

// sizeTicks marks powers of four, with their names.
type sizeTicks struct{}

func (sizeTicks) Ticks(low, high float64) (list []plot.Tick) {
	for e := 0; e <= 50; e += 2 {
		if v := math.Ldexp(1, e); v >= low*0.999 && v <= high*1.001 {
			list = append(list, plot.Tick{Value: v, Label: sizeLabel(e)})
		}
	}
	return list
}

func sizeLabel(exponent int) string {
	return fmt.Sprintf("%d%s", 1<<(exponent%10), [...]string{"", "K", "M", "G", "T", "P"}[exponent/10])
}

// step125 returns the next of 1, 2, 5, 10 and so on, below v or above.
func step125(v float64, way int) float64 {
	decade := math.Pow(10, math.Floor(math.Log10(v)))
	steps := [4]float64{1, 2, 5, 10}
	for i := range steps {
		if s := steps[i] * decade; way > 0 && s >= v {
			return s
		}
		if s := steps[3-i] * decade; way < 0 && s <= v {
			return s
		}
	}
	return v
}

// microTicks marks 1, 2 and 5 of each decade.
type microTicks struct{}

func (microTicks) Ticks(low, high float64) (list []plot.Tick) {
	for decade := math.Pow(10, math.Floor(math.Log10(low))); decade <= high*1.001; decade *= 10 {
		for _, m := range [3]float64{1, 2, 5} {
			if v := decade * m; v >= low*0.999 && v <= high*1.001 {
				list = append(list, plot.Tick{Value: v, Label: fmt.Sprintf("%g", v)})
			}
		}
	}
	return list
}
