package doctorcmd

import (
	"fmt"
	"os"
	"strings"
	"time"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/ir/diag"

	"github.com/spf13/cobra"
)

// A Document is what doctor DIR --json prints.
type Document struct {
	Schema        int            `json:"schema"`
	OK            bool           `json:"ok"`
	Processes     []Process      `json:"processes" doc:"one for each file that was read"`
	Damaged       []Damaged      `json:"damaged" doc:"files that could not be read"`
	Communicators []Communicator `json:"communicators"`
	Deadlock      string         `json:"deadlock,omitempty" doc:"processes that wait for each other"`
	cli.Noted
}

// A Process is one that wrote its last calls.
type Process struct {
	File    string `json:"file"`
	Host    string `json:"host"`
	Pid     int    `json:"pid"`
	Time    string `json:"time"`
	Written string `json:"written" doc:"why"`
}

// A Damaged is a file that could not be read.
type Damaged struct {
	File string `json:"file"`
	Why  string `json:"why"`
}

// A Communicator is what was found of one.
type Communicator struct {
	Name      string      `json:"name"`
	Ranks     int         `json:"ranks"`
	Missing   []int       `json:"missing" doc:"ranks that no file has"`
	Unmatched bool        `json:"unmatched,omitempty" doc:"several communicators that nothing tells apart: they are not compared"`
	Differs   *Difference `json:"differs" doc:"the first call that does not match"`
	Rows      []Row       `json:"rows"`
	Problems  []string    `json:"problems"`
}

// A Difference is a call that ranks made unlike each other.
type Difference struct {
	Call   int      `json:"call" doc:"its number, from 1"`
	Called []Called `json:"called"`
}

// A Called is what some ranks called.
type Called struct {
	Ranks []int  `json:"ranks"`
	Call  string `json:"call"`
}

// A Row is what some ranks have called, which is the same of each.
type Row struct {
	Ranks []int   `json:"ranks"`
	Calls int     `json:"calls" doc:"collectives that each has called"`
	State string  `json:"state" doc:"native, nccl, new, agreeing, suspended or ended"`
	Open  int     `json:"open,omitempty" doc:"the number of the call that has not ended"`
	Waits float64 `json:"waits,omitempty" doc:"how long, in seconds, until the file was written"`
	Call  string  `json:"call,omitempty" doc:"that call, or the last one"`
}

// Command returns mscclc doctor.
func Command(a *cli.App) *cobra.Command {
	patience := 30 * time.Second
	cmd := &cobra.Command{
		Use:   "doctor [FOLDER]",
		Short: "Say what this machine has, or what does not match in the last calls of a job's processes",
		Long: `Without FOLDER, print what this machine has: GPUs, their links and driver, NCCL, MPI, UCX, and the folders
and rights that a job needs. A line that begins with "none" or "bad" has the way out below it. The last two lines say
what mscclc would do here. It works without a GPU, without HOME, and in a container. The exit code is 0.

With FOLDER, read the last calls that the processes of a job wrote to it, and say of each communicator which rank made
which calls, the first call that does not match, who waits for whom, and which ranks' files are missing.

The library of mscclc with writes these files to the folder MSCCLC_METRICS when a communicator fails, and when the file
dump in that folder is made or touched. Copy the files of all hosts into one folder. Remove those of earlier jobs.

A call that others have not made yet is a problem once it has waited for --wait. The exit code is 1 if there is a
problem, a file is damaged, or a rank's file is missing.`,
		Example: `  mscclc doctor
  mscclc doctor calls
  mscclc doctor calls --wait 5m --json`,
		Args: cli.AtMost(1, "a folder: that of MSCCLC_METRICS"),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return machine(a)
			}
			return doctor(a, args[0], patience)
		},
	}
	cmd.Flags().DurationVar(&patience, "wait", patience, "calls may wait for others up to `TIME`")
	return cmd
}

func doctor(a *cli.App, dir string, patience time.Duration) error {
	a.File = dir
	if err := cli.From("wait", patience, 0); err != nil {
		return err
	}
	if info, err := os.Stat(dir); err != nil {
		return err
	} else if !info.IsDir() {
		d := diag.New(diag.Io, diag.FileSpan(dir), "this is no folder")
		return diag.List{d.WithHint("name the folder in MSCCLC_METRICS")}
	}
	list, damaged, err := readFolder(dir)
	if err != nil {
		return err
	}
	if len(list)+len(damaged) == 0 {
		d := diag.New(diag.Io, diag.FileSpan(dir), "no process has written its last calls here: there is no file mscclc-*%s", ending)
		return diag.List{d.WithHint("touch %s/dump has the processes of a job with MSCCLC_METRICS write them within 10 s", dir)}
	}
	doc := diagnose(list, damaged, patience)
	doc.spread(a, list)
	if a.JSON {
		doc.Noted = a.Notes.List()
		err = a.WriteJSON(doc)
	} else {
		doc.print(a)
	}
	if err == nil && !doc.OK {
		err = cli.ReportedError{Code: cli.ExitInput}
	}
	return err
}

// diagnose judges all records together.
func diagnose(list []*record, damaged []Damaged, patience time.Duration) *Document {
	doc := &Document{Schema: cli.Schema, Processes: []Process{}, Damaged: []Damaged{}, Communicators: []Communicator{}}
	doc.Damaged = append(doc.Damaged, damaged...)
	doc.OK = len(damaged) == 0
	for _, r := range list {
		doc.Processes = append(doc.Processes, Process{r.file, r.Host, r.Pid, r.Time.Format(time.RFC3339Nano), r.Written})
	}
	groups := group(list)
	for _, g := range groups {
		c := judge(g, len(damaged), patience)
		doc.OK = doc.OK && len(c.Problems) == 0
		doc.Communicators = append(doc.Communicators, c)
	}
	doc.Deadlock = deadlock(list, edges(groups, patience))
	doc.OK = doc.OK && doc.Deadlock == ""
	return doc
}

// spread notes that files were written at different times.
func (doc *Document) spread(a *cli.App, list []*record) {
	if len(list) == 0 {
		return
	}
	first, last := list[0], list[0]
	for _, r := range list {
		if r.Time.Before(first.Time) {
			first = r
		}
		if r.Time.After(last.Time) {
			last = r
		}
	}
	if apart := last.Time.Sub(first.Time); apart > time.Minute {
		a.Note("", "%s was written %s before %s: some files may be of an earlier time", first.file, seconds(apart), last.file)
	}
}

// print says what was found.
func (doc *Document) print(a *cli.App) {
	for _, d := range doc.Damaged {
		fmt.Fprintf(a.Stdout, "DAMAGED %s: %s\n", diag.Printable(d.File), d.Why)
	}
	if doc.Deadlock != "" {
		fmt.Fprintf(a.Stdout, "%s\n", doc.Deadlock)
	}
	for i := range doc.Communicators {
		doc.Communicators[i].print(a)
	}
	if doc.OK {
		fmt.Fprintf(a.Stdout, "ok    %s, %s: all calls match\n", diag.Counted(len(doc.Processes), "process"),
			diag.Counted(len(doc.Communicators), "communicator"))
	}
}

func (c *Communicator) print(a *cli.App) {
	verdict := "ok   "
	if len(c.Problems) > 0 {
		verdict = "WRONG"
	}
	fmt.Fprintf(a.Stdout, "%s communicator %s of %d ranks\n", verdict, diag.Printable(c.Name), c.Ranks)
	for _, p := range c.Problems {
		fmt.Fprintf(a.Stdout, "  %s\n", p)
	}
	if c.Unmatched {
		fmt.Fprintln(a.Stdout, "  several communicators, which nothing tells apart: their calls are not compared")
	}
	var rows []string
	for _, r := range c.Rows {
		last := "last: " + r.Call
		if r.Open > 0 {
			last = fmt.Sprintf("open for %s: call %d, %s", seconds(time.Duration(r.Waits*float64(time.Second))), r.Open, r.Call)
		} else if r.Call == "" {
			last = "none"
		}
		rows = append(rows, fmt.Sprintf("  %s\t%s\t%s\t%s", ranksText(r.Ranks), r.State, diag.Counted(r.Calls, "call"), last))
	}
	fmt.Fprintln(a.Stdout, cli.Table(rows...))
}

// ranksText names ranks: "rank 3", "ranks 0-2, 5".
func ranksText(ranks []int) string {
	var parts []string
	for i := 0; i < len(ranks); {
		k := i
		for k+1 < len(ranks) && ranks[k+1] == ranks[k]+1 {
			k++
		}
		switch k - i {
		case 0:
			parts = append(parts, fmt.Sprint(ranks[i]))
		case 1:
			parts = append(parts, fmt.Sprint(ranks[i]), fmt.Sprint(ranks[k]))
		default:
			parts = append(parts, fmt.Sprintf("%d-%d", ranks[i], ranks[k]))
		}
		i = k + 1
	}
	word := "ranks "
	if len(ranks) == 1 {
		word = "rank "
	}
	return word + strings.Join(parts, ", ")
}

// has names ranks as those that have done something.
func has(ranks []int) string {
	if len(ranks) == 1 {
		return ranksText(ranks) + " has"
	}
	return ranksText(ranks) + " have"
}
