package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/ir/diag"
)

// jsonCalls are calls that print each row of documents, one a line.
var jsonCalls = map[string]string{
	"bench": `
bench allgather/allpairs -p ranks=2 -b 1K -e 4K --replays 1 --replay-time 10us
bench allreduce --ranks 2 -b 1K -e 1K --replays 1 --plot curve.svg
`,
	"compare": `
compare alltoall --ranks 2 -b 1K -e 1K --time 5ms --replays 1 --replay-time 10us --place out
`,
	"search": `
search sendrecv --ranks 2 -b 1K -e 1K --replays 1 --replay-time 10us --place out -o my.table
`,
	"bundle": `
bundle --device H200 --ranks 2,3 --dtype f32 --candidates --program halo=halo/direct -o x.bundle
bundle --device H200 --ranks 2 --dtype f32 -o y.bundle
`,
	"compile": `
compile allreduce/ring
compile allreduce/ring --ranks 2 -o ring.xml --dump all
compile broadcast/chain --ranks 2 --target mscclpp
`,
	"synthesize": `
synthesize allgather -t h200:gpus=2 --chunks 1 -o gather.mscl --certificate gather.json
synthesize allgather -t h200:gpus=3 --without 1 --chunks 1 -o less.mscl
`,
	"check": `
check gather.json gather.mscl -t h200:gpus=2
`,
	"completion SHELL": `
completion bash
completion zsh
completion fish --no-descriptions
completion powershell
`,
	"doctor": `
doctor
`,
	"doctor FOLDER": `
doctor calls
doctor wrong-calls
`,
	"play": `
play allreduce/ring -o page
`,
	"explain": `
explain
explain deadlock
explain race --example
`,
	"library": `
library -o c
`,
	"fmt": `
fmt odd.mscl
fmt -l odd.mscl allreduce/ring none.mscl
`,
	"help": `

help
help run
help json
run --help
passes
completion
json
`,
	"lint": `
lint plan.json
lint plan.json none.json
`,
	"list": `
list allreduce
list odd.mscl none.mscl
`,
	"run": `
run allreduce/ring --ranks 2 --bytes 1K,1
run broadcast --bytes 1K --trace trace.json
run hangs.xml --unproven --timeout 5ms --bytes 1K
`,
	"select": `
select sendrecv -b 1K -e 2K -t cpu
select allgather odd.mscl -b 1K -e 1K -t cpu --emit folder
`,
	"show": `
show allreduce/ring --ranks 2
show plan.json
show x.bundle
show allreduce/ring --ranks 2 --svg ring.svg
`,
	"simulate": `
simulate allgather/allpairs --ranks 2 -b 1K -e 2K --svg drawn.svg --trace drawn.json
`,
	"trace-chunk": `
trace-chunk allreduce/ring 2:output[1] -p ranks=4
`,
	"topo": `
topo
`,
	"topo MACHINE --bound": `
topo dgx1v --bound --without pcie,0-4,0>1,0>2,0>3,gpu[0]-pcisw
topo ndv4:nodes=2 --bound
`,
	"topo MACHINE": `
topo ndv4:nodes=2
`,
	"verify": `
verify allreduce/ring plan.json none.xml odd.mscl
verify hangs.xml wrong.xml races.xml --replay
verify allreduce/ring --ranks 2,3
verify allreduce/allpairs -p ranks=3 --bitwise
verify allreduce/allpairs -p ranks=3 --bits order
verify allreduce/ring --sarif found.sarif
verify x.bundle --bitwise
`,
	"version": `
version
`,
	"with": `
with --bundle x.bundle --nccl none --print
with --bundle y.bundle --nccl none
`,
	"any command that fails before its document": `
--nosuch
nosuch
help nosuch
completion nosuch
version nosuch
explain nosuch
compile
compile none.mscl
compile odd.mscl -o -
compile odd.mscl -o none/x.xml
compile odd.mscl --nosuch
compile odd.mscl --json=maybe
compile odd.mscl --dump
compile odd.mscl -p many=x
verify --ranks x odd.mscl
verify odd.mscl --target nosuch
run none.xml
run odd.mscl --bytes many
run odd.mscl --device cuda --ranks 2
bench none.mscl
bundle -o z.bundle
with --print --lib nowhere
with --bundle odd.mscl --print
with --bundle x.bundle --nccl none.so --print
bundle --device H200 --ranks 1 -o z.bundle
bench nosuch
bench allreduce -b 9 -e 1
show odd.mscl nosuch
show none.xml
lint
lint plan.json --ignore nosuch
topo nosuch
topo none.topo
simulate none.xml
simulate odd.mscl -t nosuch
select nosuch
select allreduce -t none.topo
fmt
fmt odd.mscl --limit nosuch=1
list --nosuch
`,
}

// jsonFolder makes a folder with what jsonCalls name, and goes there.
func jsonFolder(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	t.Setenv("MSCCLC_CACHE", "off")
	files := map[string]string{"odd.mscl": `algorithm odd(ranks = 2)
collective allgather(ranks)


for r in 0..ranks { chunk(r, input, 0).copy([q for q in 0..ranks], output, r) }
`}
	wrong := map[string]diag.Code{"hangs.xml": diag.Deadlock, "wrong.xml": diag.WrongResult, "races.xml": diag.Race}
	for name, code := range wrong {
		e, _ := diag.Explain(code)
		files[name] = e.Example
	}
	records := map[string]string{"calls": "f32", "wrong-calls": "f16"}
	for folder, dtype := range records {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		for rank, text := range []string{"f32", dtype} {
			files[fmt.Sprintf("%s/mscclc-a-%d.calls.json", folder, rank)] = lastCalls(rank, text)
		}
	}
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	plan := strings.Fields("compile allgather/allpairs --ranks 2 -o plan.json")
	if code := main1(plan, strings.NewReader(""), io.Discard, io.Discard); code != cli.ExitGood {
		t.Fatalf("exit code %d", code)
	}
}

// lastCalls is what a process writes of one AllReduce of 10 elements, for mscclc doctor.
func lastCalls(rank int, dtype string) string {
	return fmt.Sprintf(`{"schema":1,"host":"a","pid":%d,"time":"2026-05-01T12:00:40.000Z","communicators":[{"name":"1a2b3c4d",
"id":"1a2b3c4d","rank":%[1]d,"ranks":2,"state":"native","calls":1,"last":[{"number":1,"call":1,"function":"ncclAllReduce",
"count":10,"type":"%[2]s","op":"sum","native":true,"time":"2026-05-01T12:00:00.000Z","state":"ended"}]}]}`, rank, dtype)
}
