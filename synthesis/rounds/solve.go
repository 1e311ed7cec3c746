package rounds

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/crillab/gophersat/solver"
)

// A Solver finds a model of a formula.
type Solver interface {
	Name() string

	// Solve returns a model, indexed by variable, or errUnsat where there is none, or another error where it was not
	// found whether there is one.
	Solve(ctx context.Context, p *Problem) (model []bool, err error)
}

var (
	errUnsat = errors.New("there is no model")
	errLimit = errors.New("time was over")
)

// BestSolver returns CaDiCaL where it is installed, and else Gophersat.
func BestSolver() Solver {
	if path, err := exec.LookPath("cadical"); err == nil {
		return CaDiCaL{path}
	}
	return Gophersat{}
}

// Gophersat is a solver within the process.
type Gophersat struct{}

// Name returns the solver's name.
func (Gophersat) Name() string { return "gophersat" }

// oneGophersat is held while gophersat runs: its buffers are global.
var oneGophersat sync.Mutex

// Solve runs gophersat. It has no call that stops it. So it sends each clause that it learns to a channel, and where
// time is over nobody reads the channel: its goroutine stays there and touches nothing.
func (Gophersat) Solve(ctx context.Context, p *Problem) ([]bool, error) {
	oneGophersat.Lock()
	defer oneGophersat.Unlock()
	type answer struct {
		model []bool
		err   error
	}
	done, learned := make(chan answer, 1), make(chan string)
	go func() {
		defer func() {
			if fault := recover(); fault != nil {
				done <- answer{err: fmt.Errorf("gophersat failed: %v", fault)}
			}
		}()
		s := solver.New(solver.ParsePBConstrs(p.constraints()))
		s.Certified, s.CertChan = true, learned
		if s.Solve() == solver.Unsat {
			done <- answer{err: errUnsat}
			return
		}
		done <- answer{model: append([]bool{false}, s.Model()...)}
	}()
	for {
		select {
		case <-ctx.Done():
			return nil, errLimit
		case a := <-done:
			return a.model, a.err
		case <-learned:
		}
	}
}

// constraints returns p as pseudo-Boolean constraints, which gophersat solves faster than clauses that count.
func (p *Problem) constraints() (list []solver.PBConstr) {
	for _, c := range p.Clauses {
		list = append(list, solver.PropClause(slices.Clone(c)...))
	}
	for _, l := range p.Limits {
		lits, weights := slices.Clone(l.Lits), slices.Repeat([]int{1}, len(l.Lits))
		for k, more := range l.More {
			lits, weights = append(lits, -more), append(weights, l.Most[k+1]-l.Most[k])
		}
		if most := l.Most[len(l.Most)-1]; len(lits) > 0 {
			list = append(list, solver.LtEq(lits, weights, most))
		}
	}
	return list
}

// CaDiCaL is a solver that is installed.
type CaDiCaL struct{ Path string }

// Name returns the solver's name.
func (CaDiCaL) Name() string { return "cadical" }

// Solve runs the solver, which reads the formula in DIMACS' format.
func (c CaDiCaL) Solve(ctx context.Context, p *Problem) ([]bool, error) {
	cmd := exec.CommandContext(ctx, c.Path, "-q")
	cmd.Stdin = bytes.NewReader(p.onlyClauses().dimacs())
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return nil, errLimit
	}
	// The status is 10 where there is a model, and 20 where there is none.
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return nil, fmt.Errorf("cadical: %w", err)
	}
	return p.answer(out)
}

// answer reads what a solver prints: a line "s" with the answer, and lines "v" with true literals.
func (p *Problem) answer(out []byte) (model []bool, err error) {
	err = errors.New("cadical gave no answer")
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		switch kind, rest, _ := strings.Cut(lines.Text(), " "); {
		case kind == "s" && rest == "UNSATISFIABLE":
			return nil, errUnsat
		case kind == "s" && rest == "SATISFIABLE":
			model, err = make([]bool, p.Vars+1), nil
		case kind == "v" && model != nil:
			for _, word := range strings.Fields(rest) {
				if l, _ := strconv.Atoi(word); l > 0 && l <= p.Vars {
					model[l] = true
				}
			}
		}
	}
	return model, err
}
