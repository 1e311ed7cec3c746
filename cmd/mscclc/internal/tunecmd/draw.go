package tunecmd

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strings"

	"mscclc/bench"
	"mscclc/bundle"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/tuned"
	"mscclc/ir/diag"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// The picture has a block of panels for each number of ranks, and in it a panel for each collective. A panel has few
// curves, so that they differ where they are near each other: the gain over NCCL by the size of calls, of each
// kind of launches. Panels of a block have the same axes.
const (
	panelWidth, panelHeight = 7 * vg.Centimeter, 5.5 * vg.Centimeter
	perRow                  = 4
	headHeight              = 0.8 * vg.Centimeter // of a block's title, and of the legend
	gap                     = 2 * vg.Millimeter
)

// A curveStyle is a kind of calls, and how its curve looks. Later ones are thinner, and lie upon earlier ones.
type curveStyle struct {
	name, when string
	windows    bool
	color      color.Color
	width      vg.Length
	dashes     []vg.Length
	shape      draw.GlyphDrawer
}

// Colours differ for those who see few colours, too (Okabe and Ito).
var styles = []curveStyle{
	{"captured", bundle.Captured, false, color.RGBA{G: 0x72, B: 0xb2, A: 0xff}, 2.4, nil, draw.CircleGlyph{}},
	{"eager", bundle.Eager, false, color.RGBA{R: 0xd5, G: 0x5e, A: 0xff}, 1.2, nil, draw.BoxGlyph{}},
	{"captured, windows", bundle.Captured, true, color.RGBA{G: 0x9e, B: 0x73, A: 0xff}, 1.2, []vg.Length{5, 2},
		draw.RingGlyph{}},
	{"eager, windows", bundle.Eager, true, color.Black, 0.6, []vg.Length{2, 2}, draw.CrossGlyph{}},
}

// A block is a part of the picture.
type block struct {
	ranks int
	nodes string
	kinds []string // collectives that have times beside NCCL

	from, to, least, most float64 // bytes and gains
}

// rows returns how many rows of panels a block has.
func (b *block) rows() vg.Length { return vg.Length((len(b.kinds) + perRow - 1) / perRow) }

// blocks returns the parts of the picture.
func blocks(times []tuned.Time) (list []*block) {
	for _, t := range times {
		if t.Gain() == 0 {
			continue
		}
		i := slices.IndexFunc(list, func(b *block) bool { return b.ranks == t.Ranks && b.nodes == t.Nodes })
		if i < 0 {
			i = len(list)
			list = append(list, &block{ranks: t.Ranks, nodes: t.Nodes, from: math.Inf(1), least: 1, most: 1.5})
		}
		b, bytes := list[i], float64(t.Bytes)
		if !slices.Contains(b.kinds, t.Collective) {
			b.kinds = append(b.kinds, t.Collective)
		}
		b.from, b.to = min(b.from, bytes), max(b.to, bytes)
		b.least, b.most = min(b.least, t.Gain()), max(b.most, t.Gain())
	}
	names := bundle.KindNames()
	for _, b := range list {
		slices.SortFunc(b.kinds, func(x, y string) int { return slices.Index(names, x) - slices.Index(names, y) })
		if b.to == b.from {
			b.to = 2 * b.from
		}
	}
	return list
}

// drawPicture draws the gains over NCCL. The ending of file says whether as SVG or as PNG.
func drawPicture(w io.Writer, file string, device string, times []tuned.Time) error {
	list := blocks(times)
	if len(list) == 0 {
		return cli.Usagef("NCCL was not measured, and --plot draws how many times as fast as NCCL calls run")
	}
	widest, height := 0, headHeight
	for _, b := range list {
		widest = max(widest, min(len(b.kinds), perRow))
		height += headHeight + b.rows()*panelHeight
	}
	width := max(vg.Length(widest), 2) * panelWidth // the legend has room
	paint := func(c draw.Canvas) error {
		c.FillPolygon(color.White, []vg.Point{c.Min, {X: c.Max.X, Y: c.Min.Y}, c.Max, {X: c.Min.X, Y: c.Max.Y}})
		y := height - headHeight
		legend(draw.Crop(c, gap, -gap, y, 0), times)
		for _, b := range list {
			y -= headHeight
			c.FillText(font(12), vg.Point{X: c.Min.X + gap, Y: c.Min.Y + y + headHeight/4},
				fmt.Sprintf("%s ranks of %s: times as fast as NCCL", ranksText(b.ranks, b.nodes), diag.Printable(device)))
			for i, kind := range b.kinds {
				p, err := b.plot(kind, times)
				if err != nil {
					return err
				}
				x, top := panelWidth*vg.Length(i%perRow), y-panelHeight*vg.Length(i/perRow)
				p.Draw(draw.Crop(c, x+gap, x+panelWidth-gap-width, top-panelHeight+gap, top-gap-height))
			}
			y -= b.rows() * panelHeight
		}
		return nil
	}
	return bench.Paint(w, file, width, height, paint)
}

// font returns a style of text of a given size in points.
func font(points vg.Length) draw.TextStyle {
	p := plot.New()
	style := p.Title.TextStyle
	style.Font.Size, style.XAlign, style.YAlign = points, text.XLeft, text.YBottom
	return style
}

// legend says in a row how curves look.
func legend(c draw.Canvas, times []tuned.Time) {
	x, y := c.Min.X, c.Min.Y+headHeight/2
	const sample = vg.Centimeter
	for i := range styles {
		s := &styles[i]
		if !slices.ContainsFunc(times, s.has) {
			continue
		}
		c.StrokeLine2(s.line(), x, y, x+sample, y)
		c.DrawGlyph(s.glyph(), vg.Point{X: x + sample/2, Y: y})
		style := font(10)
		style.YAlign = text.YCenter
		c.FillText(style, vg.Point{X: x + sample + gap, Y: y}, s.name)
		x += sample + 3*gap + style.Width(s.name)
	}
}

// has reports whether a time beside NCCL is of the kind of calls.
func (s *curveStyle) has(t tuned.Time) bool {
	return t.When == s.when && t.Windows == s.windows && t.Gain() > 0
}

func (s *curveStyle) line() draw.LineStyle {
	return draw.LineStyle{Color: s.color, Width: s.width, Dashes: s.dashes}
}

func (s *curveStyle) glyph() draw.GlyphStyle {
	return draw.GlyphStyle{Color: s.color, Radius: 2.2, Shape: s.shape}
}

// plot returns the panel of a collective.
func (b *block) plot(kind string, times []tuned.Time) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = kind
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, sizeTicks{b.to}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = b.from, b.to, 0.9*b.least, 1.05*b.most
	nccl, err := plotter.NewLine(plotter.XYs{{X: b.from, Y: 1}, {X: b.to, Y: 1}})
	if err != nil {
		return nil, err
	}
	nccl.Color = color.Gray{Y: 0xa0}
	p.Add(plotter.NewGrid(), nccl)
	for i := range styles {
		s := &styles[i]
		var points plotter.XYs
		for _, t := range times {
			if t.Collective == kind && t.Ranks == b.ranks && t.Nodes == b.nodes && s.has(t) {
				points = append(points, plotter.XY{X: float64(t.Bytes), Y: t.Gain()})
			}
		}
		if len(points) == 0 {
			continue
		}
		line, marks, err := plotter.NewLinePoints(points)
		if err != nil {
			return nil, err
		}
		line.LineStyle, marks.GlyphStyle = s.line(), s.glyph()
		p.Add(line, marks)
	}
	return p, nil
}

// sizeTicks marks sizes up to the last, each 8 times the one before, and labels every other mark.
type sizeTicks struct{ last float64 }

// Ticks implements plot.Ticker.
func (t sizeTicks) Ticks(least, _ float64) (list []plot.Tick) {
	for bytes, i := int64(1<<10), 0; float64(bytes) <= t.last; bytes, i = bytes*8, i+1 {
		tick := plot.Tick{Value: float64(bytes)}
		if i%2 == 0 {
			tick.Label = strings.TrimSuffix(strings.ReplaceAll(cli.SizeText(bytes), " ", ""), "iB")
		}
		if float64(bytes) >= least {
			list = append(list, tick)
		}
	}
	return list
}
