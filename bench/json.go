package bench

import (
	"strconv"
	"time"
)

// version is that of nccl-tests' document, whose fields ours has. What else there
// is may be added to at any time.
const version = 1

// A Document is a Report as JSON.
type Document struct {
	Schema      int            `json:"schema"`
	Version     int            `json:"version"`
	StartTime   string         `json:"start_time"`
	Args        []string       `json:"args"`
	NCCLVersion int            `json:"nccl_version,omitempty"`
	Collective  string         `json:"collective"`
	Algorithm   string         `json:"algorithm"`
	Ranks       int            `json:"ranks"`
	Device      string         `json:"device"`
	Driver      string         `json:"driver,omitempty"`
	Config      documentConfig `json:"config"`
	Results     []documentRow  `json:"results" doc:"one a size"`
	OutOfBounds struct {
		Count int64  `json:"count"`
		Okay  string `json:"okay"`
	} `json:"out_of_bounds"`
	Average struct {
		Bandwidth float64 `json:"bandwidth"`
		Okay      string  `json:"okay"`
	} `json:"average_bus_bandwidth"`
	Speedups []Speedup `json:"speedups,omitempty" doc:"over NCCL, or what --vs names"`
	Errors   []string  `json:"errors"`
	EndTime  string    `json:"end_time"`
	Notes    []string  `json:"notes,omitempty" doc:"what stderr has without --json, after note:"`
}

type documentConfig struct {
	Threads    int      `json:"nthreads"`
	GPUs       int      `json:"ngpus"`
	Processes  int      `json:"nprocesses"`
	Min        int64    `json:"minimum_bytes"`
	Max        int64    `json:"maximum_bytes"`
	Factor     int64    `json:"step_factor,omitempty"`
	Step       int64    `json:"step_bytes,omitempty"`
	Warmup     int      `json:"warmup_iters"`
	Replays    int      `json:"replays"`
	Iterations int      `json:"iterations" doc:"of a replay; 0: as many as take target_us"`
	Group      int      `json:"aggregated_iterations"`
	Target     float64  `json:"target_us"`
	Validation int      `json:"validation"`
	Graph      int      `json:"graph"`
	Blocking   int      `json:"blocking" doc:"what the host waits for, as -z says"`
	Of         string   `json:"time_of" doc:"which time of the ranks' times"`
	Unalign    int64    `json:"unalign,omitempty"`
	Row        int      `json:"row,omitempty" doc:"elements of a row that --row says"`
	Then       string   `json:"then,omitempty" doc:"what becomes of each row of a sum"`
	Devices    []Device `json:"devices"`
}

type documentRow struct {
	Size       int64          `json:"size"`
	Count      int64          `json:"count"`
	Type       string         `json:"type"`
	RedOp      string         `json:"redop"`
	Root       string         `json:"root"`
	OutOfPlace *documentPlace `json:"out_of_place"`
	InPlace    *documentPlace `json:"in_place"`
	Done       string         `json:"timestamp,omitempty" doc:"of -S 1"`
}

type documentPlace struct {
	Time     float64 `json:"time"`
	AlgBW    float64 `json:"alg_bw"`
	CPU      float64 `json:"cpu_time"`
	BusBW    float64 `json:"bus_bw"`
	Wrong    int64   `json:"nwrong"`
	Checked  int64   `json:"checked"`
	Launch   string  `json:"launch"`
	Launches int     `json:"launches" doc:"of a replay"`
	Program  string  `json:"program"`
	Spread   *Spread `json:"per_iter,omitempty" doc:"of -I 1"`

	NCCL *documentRival `json:"nccl,omitempty" doc:"of --vs nccl"`
	Two  *documentRival `json:"two_sided,omitempty" doc:"of --vs two"`
	Err  string         `json:"error,omitempty" doc:"why it did not run"`
}

type documentRival struct {
	Time   float64 `json:"time"`
	Launch string  `json:"launch"`
	Other  float64 `json:"time_of_other_launch,omitempty" doc:"of graphs, or one by one"`
	Wrong  int64   `json:"nwrong"`
	Ratio  float64 `json:"ratio" doc:"how many times as fast ours is"`
}

// Document makes JSON of a report; schema is that of the command's documents.
func (r *Report) Document(schema int, args []string, start, end time.Time) *Document {
	d := &Document{Schema: schema, Version: version, StartTime: start.Format(time.DateTime),
		EndTime: end.Format(time.DateTime), Args: args, NCCLVersion: r.NCCL, Collective: r.Coll.Kind.String(),
		Algorithm: r.Algo, Ranks: r.Coll.Ranks, Device: r.Device, Driver: r.Driver, Results: []documentRow{},
		Errors: []string{}}
	m := &r.Measuring
	d.Config = documentConfig{Threads: r.Coll.Ranks / max(r.Processes, 1), GPUs: 1, Processes: r.Processes,
		Min: r.MinBytes, Max: r.MaxBytes, Factor: r.Factor, Step: r.Step, Warmup: m.Warmup, Replays: m.Replays,
		Iterations: m.Launches, Group: max(m.Group, 1), Target: float64(m.Target) / 1e3, Validation: 1, Graph: 1,
		Blocking: int(m.Blocking), Of: ofRanks[m.Of], Unalign: r.Unalign, Devices: r.Devices}
	if r.Finished != nil {
		d.Config.Row, d.Config.Then = r.Finished.Length, r.Finished.Then.String()
	}
	if r.Step > 0 {
		d.Config.Factor = 0
	}
	if m.Plain {
		d.Config.Graph = 0
	}
	for _, row := range r.Rows {
		j := documentRow{Size: row.Bytes, Count: row.Count, Type: typeNames[row.DType], RedOp: r.redop(row),
			Root: strconv.Itoa(r.root(row))}
		j.OutOfPlace, j.InPlace = r.place(row, row.OutOfPlace), r.place(row, row.InPlace)
		if r.Stamps {
			j.Done = row.Done.Format(time.DateTime)
		}
		d.Results = append(d.Results, j)
		for _, p := range row.places() {
			if p != nil && p.Err != nil {
				d.Errors = append(d.Errors, p.Err.Error())
			}
		}
	}
	d.OutOfBounds.Count, d.OutOfBounds.Okay = r.Outside(), strconv.FormatBool(r.Outside() == 0)
	d.Average.Bandwidth, d.Average.Okay = r.AvgBusBW(), "unchecked"
	d.Speedups = r.Speedups()
	return d
}

func (r *Report) place(row *Row, p *Result) *documentPlace {
	if p == nil {
		return nil
	}
	if p.Err != nil {
		return &documentPlace{Err: p.Err.Error()}
	}
	alg, bus := Bandwidths(r.Coll, row.Bytes, p.Time)
	j := &documentPlace{Time: p.Time, CPU: p.CPU, AlgBW: alg, BusBW: bus, Wrong: p.Wrong, Checked: p.Checked,
		Launch: p.How, Launches: p.Launches, Program: p.Form}
	if r.Spread {
		j.Spread = spreadOf(p.Each, r.Skip)
	}
	if v := p.Rival; v != nil {
		rival := &documentRival{Time: v.Time, Launch: v.How, Other: v.Other, Wrong: v.Wrong, Ratio: p.Ratio()}
		if r.NCCL > 0 {
			j.NCCL = rival
		} else {
			j.Two = rival
		}
	}
	return j
}
