package rows_test

import (
	"fmt"
	"math/rand"
	"strings"

	"mscclc"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/epilogue"
)

// The bodies of programs that finish complete sums, by what they do. Where the data goes is left to the compiler:
// protocols, replicas, and how many destinations a step has.
var bodies = map[string]string{
	// every rank sums everything, and finishes it
	"allreduce onestep": `
scratch acc[ranks * CHUNKS]
for r in 0..ranks, k in 0..ranks * CHUNKS {
    chunk(r, input, k).copy(r, acc, k)
    for peer in 0..ranks if peer != r { chunk(r, acc, k).reduce(chunk(peer, input, k)) }
    chunk(r, acc, k).then(STAGES).copy(r, output, k)
}`,
	// reduce-scatter, gather of raw sums, and every rank finishes
	"allreduce after": `
scratch sums[ranks * CHUNKS]
for r in 0..ranks, k in 0..CHUNKS {
    let c = r * CHUNKS + k
    chunk(r, input, c).copy(r, sums, c)
    for peer in 0..ranks if peer != r { chunk(r, sums, c).reduce(chunk(peer, input, c)) }
    for peer in 0..ranks if peer != r { chunk(r, sums, c).copy(peer, sums, c) }
}
for r in 0..ranks, c in 0..ranks * CHUNKS { chunk(r, sums, c).then(STAGES).copy(r, output, c) }`,
	// the owner of a chunk finishes it, and finished rows are gathered
	"allreduce before": `
scratch sums[CHUNKS]
for r in 0..ranks, k in 0..CHUNKS {
    let c = r * CHUNKS + k
    chunk(r, input, c).copy(r, sums, k)
    for peer in 0..ranks if peer != r { chunk(r, sums, k).reduce(chunk(peer, input, c)) }
    let done = chunk(r, sums, k).then(STAGES).copy(r, output, c)
    for peer in 0..ranks if peer != r { done.copy(peer, output, c) }
}`,
	// the sum goes from rank to rank, and finished rows go on from rank to rank
	"allreduce chain": `
scratch sums[CHUNKS * ranks]
for c in 0..ranks * CHUNKS {
    chunk(0, input, c).copy(0, sums, c)
    for r in 1..ranks {
        chunk(r - 1, sums, c).copy(r, sums, c)
        chunk(r, sums, c).reduce(chunk(r, input, c))
    }
    chunk(ranks - 1, sums, c).then(STAGES).copy(ranks - 1, output, c)
    for r in 1..ranks { chunk(ranks - r, output, c).copy(ranks - r - 1, output, c) }
}`,
	"reducescatter onestep": `
scratch acc[CHUNKS]
for r in 0..ranks, k in 0..CHUNKS {
    let c = r * CHUNKS + k
    chunk(r, input, c).copy(r, acc, k)
    for peer in 0..ranks if peer != r { chunk(r, acc, k).reduce(chunk(peer, input, c)) }
    chunk(r, acc, k).then(STAGES).copy(r, output, k)
}`,
	// one rank sums, and the owners finish what it sends them
	"reducescatter after": `
scratch sums[ranks * CHUNKS]
for c in 0..ranks * CHUNKS {
    chunk(0, input, c).copy(0, sums, c)
    for peer in 1..ranks { chunk(0, sums, c).reduce(chunk(peer, input, c)) }
}
for r in 0..ranks, k in 0..CHUNKS { chunk(0, sums, r * CHUNKS + k).then(STAGES).copy(r, output, k) }`,
	"reduce onestep": `
scratch acc[CHUNKS * ranks]
for c in 0..ranks * CHUNKS {
    chunk(0, input, c).copy(0, acc, c)
    for peer in 1..ranks { chunk(0, acc, c).reduce(chunk(peer, input, c)) }
    chunk(0, acc, c).then(STAGES).copy(0, output, c)
}`,
}

// names are the names of bodies, in order.
var names = []string{"allreduce onestep", "allreduce after", "allreduce before", "allreduce chain",
	"reducescatter onestep", "reducescatter after", "reduce onestep"}

// compiled compiles one of the bodies, with an epilogue.
func compiled(name string, then epilogue.List, ranks, chunks int, proto ir.Protocol,
	opt mscclc.Options) (*either.Program, error) {
	kind, form, _ := strings.Cut(name, " ")
	each := chunks
	if kind != "reducescatter" {
		each *= ranks
	}
	body := strings.NewReplacer("CHUNKS", fmt.Sprint(chunks), "STAGES", then.String()).Replace(bodies[name])
	text := fmt.Sprintf("algorithm %s(ranks = %d)\ncollective %s(ranks, chunks = %d, inplace = false)\nprotocol %v\n%s\n",
		form, ranks, kind, each, proto, body)
	opt.OneSided = true
	return mscclc.Compile(name+".mscl", []byte(text), opt)
}

// stages returns a random list of stages.
func stages(rnd *rand.Rand) (l epilogue.List) {
	for _, k := range rnd.Perm(int(epilogue.NumKinds)) {
		kind := epilogue.Kind(k)
		if row := epilogue.Stages[kind]; row.Last || rnd.Intn(3) > 0 {
			continue
		}
		s := epilogue.Stage{Kind: kind}
		if kind == epilogue.Activation {
			s.Fn = epilogue.Function(rnd.Intn(int(epilogue.NumFunctions)))
		}
		l = append(l, s)
	}
	if end := epilogue.Types[rnd.Intn(len(epilogue.Types))]; rnd.Intn(2) == 0 || len(l) == 0 {
		s := epilogue.Stage{Kind: end.For, Type: end.Name}
		if end.For == epilogue.Quantise && rnd.Intn(2) == 0 {
			s.Block = 1 + rnd.Intn(80)
		}
		l = append(l, s)
	}
	return l
}
