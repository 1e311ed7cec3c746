package compiling

import (
	"fmt"
	"strconv"
	"strings"

	"mscclc"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/codegen"
	"mscclc/ir/diag"
	"mscclc/lang/syntax"
)

// ranksPerNode is how many GPUs a node has at most where verify shares ranks out.
const ranksPerNode = 16

// HasParameter reports whether s has an algorithm with a parameter of that name. What cannot be parsed has none.
func (c *Flags) HasParameter(s *cli.Source, name string) bool {
	if s.Kind != codegen.KindSource {
		return false
	}
	text, err := s.ReadAlgorithm(&c.Limits)
	if err != nil {
		return false
	}
	tree, err := syntax.ParseLimited(s.Name, text, c.Limits.Lang)
	return err == nil && parameters(tree)[name]
}

// parameters returns the names of an algorithm's parameters.
func parameters(f *syntax.File) map[string]bool {
	has := map[string]bool{}
	for _, s := range f.Stmts {
		if a, ok := s.(*syntax.Algorithm); ok {
			for _, p := range a.Params {
				has[p.Name] = true
			}
		}
	}
	return has
}

// SharesOf returns the parameters of an algorithm for n ranks: itself, or, of nodes and gpus, all ways to share them
// out; none where it has no such parameters.
func SharesOf(f *syntax.File, n int) (shares [][]string) {
	has := parameters(f)
	switch {
	case has["ranks"]:
		shares = append(shares, []string{fmt.Sprintf("ranks=%d", n)})
	case has["nodes"] && has["gpus"]:
		for gpus := 1; gpus <= min(n, ranksPerNode); gpus++ {
			if n%gpus == 0 {
				shares = append(shares, []string{fmt.Sprintf("nodes=%d", n/gpus), fmt.Sprintf("gpus=%d", gpus)})
			}
		}
	}
	return shares
}

// ShareRanks sets nodes and gpus in opt, for --ranks of an algorithm that has these parameters, and says what they are.
func ShareRanks(a *cli.App, s *cli.Source, text []byte, c *Flags, opt *mscclc.Options) error {
	n, err := strconv.Atoi(strings.TrimPrefix(c.RanksSetting, "ranks="))
	if err != nil { // --ranks is not given
		return nil
	}
	tree, err := syntax.ParseLimited(s.Name, text, opt.Lang.Limits)
	if err != nil {
		return err
	}
	shares := SharesOf(tree, n)
	if len(shares) == 0 || len(shares[0]) == 1 {
		return nil
	}
	for _, name := range []string{"nodes", "gpus"} {
		if value, ok := opt.Lang.Params[name]; ok {
			return cli.Usagef("--ranks and -p %s=%s both say how many ranks there are", name, value)
		}
	}
	share := fewestNodes(shares)
	delete(opt.Lang.Params, "ranks")
	for _, setting := range share {
		name, value, _ := strings.Cut(setting, "=")
		opt.Lang.Params[name] = value
	}
	a.Note(s.Name, "%s are taken as %s; -p nodes=N -p gpus=N sets others", diag.Counted(n, "rank"), strings.Join(share, " "))
	return nil
}

// fewestNodes returns the share of SharesOf with the fewest nodes, of two or more where there is one.
func fewestNodes(shares [][]string) []string {
	last := shares[len(shares)-1]
	if len(shares) > 1 && last[0] == "nodes=1" {
		return shares[len(shares)-2]
	}
	return last
}
