package bench

import (
	"fmt"
	"io"
	"strings"
	"time"

	"mscclc/executor/data"
	"mscclc/ir"
)

// A Result is one placement of one size.
type Result struct {
	Time     float64         // us
	CPU      float64         // us that the host takes to launch it
	Each     []time.Duration // of the replays
	Launches int             // of a replay
	How      string          // it was launched
	Form     string
	Found
	Rival *Rival
	Err   error // why there is no time
}

// A Rival is what NCCL, or another program, took for the same. Checked and Wrong are of its results.
type Rival struct {
	Time  float64 // us, of the faster of its launch modes
	CPU   float64 // us that the host takes to launch it
	How   string
	Other float64 // us, of the other mode; 0 where there was none
	Found
}

// Ratio returns how many times as fast as NCCL ours is, or 0.
func (r *Result) Ratio() float64 {
	if r == nil || r.Rival == nil || r.Time == 0 {
		return 0
	}
	return r.Rival.Time / r.Time
}

// A Row is one size. A placement that was not measured is nil.
type Row struct {
	DType        data.DType
	RedOp        data.RedOp
	Root         int
	Bytes, Count int64 // count is the elements of a piece
	Done         time.Time
	OutOfPlace   *Result
	InPlace      *Result
}

// places returns the placements of a row.
func (r *Row) places() [2]*Result { return [2]*Result{r.OutOfPlace, r.InPlace} }

// A Report is a measurement of one collective.
type Report struct {
	Coll     *ir.Collective
	Algo     string // what was measured
	Device   string
	Driver   string
	Devices  []Device
	NCCL     int // its version; 0 without
	NCCLPath string
	Beside   string // what was measured beside ours that is not NCCL, in a word; or ""
	Rows     []*Row

	MinBytes, MaxBytes int64
	Factor             int64
	Step               int64 // bytes between sizes, in place of a factor; 0 is none
	Unalign            int64
	Measuring          Measuring
	Processes          int
	Finished           *Rows // of a program with an epilogue, or nil

	CPUTime bool // the column is of the host's time
	Spread  bool // there are columns of the spread of replays
	Skip    int  // replays that are not of the spread
	Stamps  bool // rows have the time of day
}

// typeNames and kindNames are nccl-tests'.
var typeNames = [data.NumDTypes]string{"half", "bfloat16", "float", "double", "int8", "uint8", "int32", "uint32",
	"int64", "uint64", "f8e4m3", "f8e5m2"}

// redop and root are the columns of those names.
func (r *Report) redop(row *Row) string {
	if r.Coll.Reduces() {
		return row.RedOp.String()
	}
	return "none"
}

func (r *Report) root(row *Row) int {
	if r.Coll.Kind.Rooted() {
		return row.Root
	}
	return -1
}

// rival returns what was measured beside ours, in a word, or "".
func (r *Report) rival() string {
	if r.NCCL > 0 {
		return "nccl"
	}
	return r.Beside
}

// versionText returns a version as NCCL numbers it.
func versionText(v int) string { return fmt.Sprintf("%d.%d.%d", v/10000, v%10000/100, v%100) }

// number writes v in width characters, with as many digits after the point as
// have room.
func number(v float64, width int) string {
	power := 0
	for x := 1.0; v >= x; x *= 10 {
		power++
	}
	digits := 0
	switch {
	case power < width-2:
		digits = 2
	case power < width-1:
		digits = 1
	}
	return fmt.Sprintf("%*.*f", width, digits, v)
}

// time returns what the column of times has of a result.
func (r *Report) time(p *Result) float64 {
	if r.CPUTime {
		return p.CPU
	}
	return p.Time
}

// rivalTime returns what the column of a rival's times has.
func (r *Report) rivalTime(v *Rival) float64 {
	if r.CPUTime {
		return v.CPU
	}
	return v.Time
}

// spreadColumns returns how many columns a placement has for the spread of its replays.
func (r *Report) spreadColumns() int {
	if r.Spread {
		return 4
	}
	return 0
}

// WriteRow writes a row.
func (r *Report) WriteRow(w io.Writer, row *Row) {
	var b strings.Builder
	fmt.Fprintf(&b, "%12d  %12d  %8s  %6s  %6d", row.Bytes, row.Count, typeNames[row.DType], r.redop(row), r.root(row))
	for _, p := range row.places() {
		if p == nil || p.Err != nil {
			fmt.Fprintf(&b, "  %7s  %6s  %6s  %6s", "N/A", "N/A", "N/A", "N/A")
			b.WriteString(strings.Repeat(fmt.Sprintf("  %7s", "N/A"), r.spreadColumns()))
			continue
		}
		alg, bus := Bandwidths(r.Coll, row.Bytes, p.Time)
		wrong := "N/A"
		if p.Checked > 0 || row.Bytes == 0 {
			wrong = fmt.Sprint(p.Wrong)
		}
		fmt.Fprintf(&b, "  %s  %s  %s  %6s", number(r.time(p), 7), number(alg, 6), number(bus, 6), wrong)
		if r.Spread {
			s := spreadOf(p.Each, r.Skip)
			fmt.Fprintf(&b, "  %s  %s  %s  %s", number(s.Min, 7), number(s.Max, 7), number(s.P99, 7), number(s.CV, 7))
		}
	}
	if r.Stamps {
		fmt.Fprintf(&b, "%21s", row.Done.Format(time.DateTime))
	}
	if r.rival() != "" {
		for _, p := range row.places() {
			if p.Ratio() == 0 {
				fmt.Fprintf(&b, "  %7s  %6s", "N/A", "N/A")
			} else {
				fmt.Fprintf(&b, "  %s  %6.2f", number(r.rivalTime(p.Rival), 7), p.Ratio())
			}
		}
	}
	b.WriteString(r.remark(row))
	fmt.Fprintln(w, b.String())
}

// remark says how a row was launched, and what by; once where both placements
// agree.
func (r *Report) remark(row *Row) string {
	var parts []string
	for _, p := range row.places() {
		if p == nil {
			continue
		}
		if text := p.remark(r.rival()); len(parts) == 0 || parts[0] != text {
			parts = append(parts, text)
		}
	}
	return "  " + strings.Join(parts, " | ")
}

func (p *Result) remark(rival string) string {
	if p.Err != nil {
		return "not run: " + strings.SplitN(p.Err.Error(), "\n", 2)[0]
	}
	text := p.How
	if p.How == "graph" {
		text += fmt.Sprintf(" of %d", p.Launches)
	}
	text += ", " + p.Form
	if p.Rival != nil {
		text += "; " + rival + " " + p.Rival.How
	}
	if p.Rival != nil && p.Rival.Wrong > 0 {
		text += fmt.Sprintf(" (%d wrong)", p.Rival.Wrong)
	}
	return text
}

// Footer writes what stands below the rows.
func (r *Report) Footer(w io.Writer) {
	verdict := "OK"
	if r.Outside() > 0 {
		verdict = "FAILED"
	}
	fmt.Fprintf(w, "# %-20s : %d %s\n", "Out of bounds values", r.Outside(), verdict)
	fmt.Fprintf(w, "# %-20s : %.6g\n", "Avg bus bandwidth", r.AvgBusBW())
	label := "NCCL / ours"
	if r.Beside != "" {
		label = r.Beside + " / ours"
	}
	for _, s := range r.Speedups() {
		fmt.Fprintf(w, "# %-20s : %s, geometric mean %.3f of %d sizes, least %.3f at %d\n", label, s.Place,
			s.GeoMean, s.Sizes, s.Least, s.LeastSize)
	}
	fmt.Fprintln(w, "#")
}
