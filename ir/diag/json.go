package diag

// A FileReport is what --json prints of one file. Its fields are a schema that
// only grows: a reader ignores what it does not know.
type FileReport struct {
	File     string    `json:"file"`
	OK       bool      `json:"ok" doc:"no problem rejects it; warnings do not"`
	Problems []Problem `json:"problems"`
}

// A Problem is a Diagnostic in JSON. Rank, Block and Step are absent where the
// problem concerns none; Pos is file:line:col, or the file alone.
type Problem struct {
	Code           Code          `json:"code" doc:"mscclc explain CODE describes it"`
	Warning        bool          `json:"warning,omitempty" doc:"the program is right"`
	Message        string        `json:"message"`
	Rank           *int          `json:"rank,omitempty"`
	Block          *int          `json:"block,omitempty"`
	Step           *int          `json:"step,omitempty"`
	Pos            string        `json:"pos,omitempty" doc:"file:line:col, or the file"`
	Notes          []ProblemNote `json:"notes,omitempty"`
	Hint           string        `json:"hint,omitempty"`
	Counterexample any           `json:"counterexample,omitempty" doc:"what shows it"`
}

// A ProblemNote is a Note in JSON.
type ProblemNote struct {
	Message string `json:"message"`
	Pos     string `json:"pos,omitempty"`
}

// Report makes the JSON form of what was found in file, sorted by position.
func Report(file string, l List) FileReport {
	r := FileReport{File: file, OK: !l.Rejects(), Problems: []Problem{}}
	for _, d := range append(List(nil), l...).Sort() {
		p := Problem{Code: d.Code, Warning: d.Code.Warning(), Message: d.Text, Rank: known(d.Rank), Block: known(d.Block),
			Step: known(d.Step), Pos: d.Span.Pos.String(), Hint: d.Hint}
		for _, n := range d.Notes {
			p.Notes = append(p.Notes, ProblemNote{Message: n.Text, Pos: n.Span.Pos.String()})
		}
		r.Problems = append(r.Problems, p)
	}
	return r
}

func known(n int) *int {
	if n < 0 {
		return nil
	}
	return &n
}
