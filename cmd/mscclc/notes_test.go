package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"mscclc/cmd/mscclc/internal/cli"
)

// A document has the notes that stderr has without --json.
func TestJSONNotes(t *testing.T) {
	jsonFolder(t)
	if err := os.Mkdir("mix", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("mix/odd.json", []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir("plans", 0o777); err != nil {
		t.Fatal(err)
	}
	calls := []string{"allgather/allpairs --ranks 2 -o mix/plan.json", "allreduce/ring --ranks 2 -o mix/ring.xml"}
	for _, name := range "abcdefgh" {
		calls = append(calls, "allgather/allpairs --ranks 2 -o plans/"+string(name)+".json")
	}
	for _, call := range calls {
		args := append([]string{"compile"}, strings.Fields(call)...)
		if code := main1(args, strings.NewReader(""), io.Discard, io.Discard); code != cli.ExitGood {
			t.Fatalf("%s: exit code %d", call, code)
		}
	}
	for _, call := range []string{
		"compile allreduce/ring -o z.xml",
		"run allreduce/allpairs --ranks 2 --bytes 1K,1",
		"run mix/ring.xml --bytes 1K --unproven",
		"run allgather/allpairs --ranks 2 --bytes 1K --op max",
		"bench allreduce/ring --ranks 2 -b 1 -e 1K --replays 1 --replay-time 10us",
		"simulate allreduce/allpairs --ranks 2 -b 1 -e 1K",
		"select allreduce -b 1 -e 1K -t cpu",
		"verify mix --target msccl",
		"verify mix/plan.json --slots 2",
		"verify plans --slots 2",
		"lint mix",
	} {
		var stdout, stderr bytes.Buffer
		args := strings.Fields(call)
		main1(args, strings.NewReader(""), io.Discard, &stderr)
		var want []string
		for line := range strings.Lines(stderr.String()) {
			if head, note, ok := strings.Cut(strings.TrimSpace(line), "note: "); ok {
				want = append(want, head+note)
			}
		}
		if len(want) == 0 {
			t.Errorf("%s: stderr has no note:\n%s", call, stderr.String())
		}
		if strings.HasPrefix(call, "verify plans") && (len(want) != 8 || !slices.IsSorted(want)) {
			t.Errorf("%s: the notes do not have the order of the files: %q", call, want)
		}
		main1(append(args, "--json"), strings.NewReader(""), &stdout, io.Discard)
		text := bytes.TrimSpace(stdout.Bytes())
		if !bytes.HasPrefix(text, []byte("[")) {
			text = slices.Concat([]byte("["), text, []byte("]"))
		}
		var docs []cli.Noted
		if err := json.Unmarshal(text, &docs); err != nil {
			t.Fatalf("%s: %v", call, err)
		}
		if len(docs) == 0 || !slices.Equal(docs[0].Notes, want) {
			t.Errorf("%s: the notes are %q, and stderr has %q", call, docs, want)
		}
	}
}
