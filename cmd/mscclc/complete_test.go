package main

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/completion"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// completed returns what completion offers at the end of a command line, without descriptions.
func completed(t *testing.T, args ...string) (words []string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := main1(append([]string{"__completeNoDesc"}, args...), strings.NewReader(""), &stdout,
		&stderr); code != cli.ExitGood {
		t.Fatalf("%v: exit code %d\n%s", args, code, stderr.String())
	}
	lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
	return lines[:len(lines)-1] // the last is the directive
}

// Every command says what its arguments are, and every flag what its values are: a string that is no word has a row in
// values, and no row is left over.
func TestEveryPlaceCompletes(t *testing.T) {
	root := rootCommand(silent())
	used := map[string]bool{}
	for _, cmd := range root.Commands() {
		if _, ok := completion.Arguments[cmd.Name()]; !ok && cmd.Name() != "completion" && cmd.Runnable() {
			t.Errorf("completion does not know the arguments of %s", cmd.Name())
		}
		used[cmd.Name()] = true
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			used[flag.Name], used[cmd.Name()+" "+flag.Name] = true, true
			if _, ok := completion.ValueOf(cmd, flag); !ok {
				t.Errorf("completion does not know the values of %s --%s", cmd.Name(), flag.Name)
			}
		})
	}
	for name := range completion.Arguments {
		if !used[name] {
			t.Errorf("there is no command %s", name)
		}
	}
	for name := range completion.Values {
		if !used[name] {
			t.Errorf("there is no flag %s", name)
		}
	}
}

// cheap is a call of each command that takes values of closed sets, and is soon over.
var cheap = map[string]string{
	"bench":       "bench allgather/allpairs -p ranks=2 -b 1K -e 1K --replays 1 --replay-time 10us",
	"bundle":      "bundle --device H200 --ranks 2 --dtype f32 --candidates -o x.bundle",
	"check":       "check nowhere.json",
	"synthesize":  "synthesize nosuch",
	"compare":     "compare sendrecv --ranks 2 -b 1K -e 1K --place out --time 1ms --replays 1 --replay-time 10us",
	"compile":     "compile allgather/allpairs -p ranks=2",
	"explain":     "explain race --example",
	"fmt":         "fmt allreduce/ring",
	"library":     "library nosuch",
	"lint":        "lint plan.json",
	"list":        "list allreduce/ring",
	"play":        "play nosuch.mscl",
	"run":         "run allgather/allpairs -p ranks=2 --bytes 1K",
	"search":      "search sendrecv --ranks 2 -b 1K -e 1K --place out --time 1ms --replays 1 --replay-time 10us",
	"select":      "select sendrecv -b 1K -e 1K -t cpu",
	"show":        "show allgather/allpairs -p ranks=2",
	"simulate":    "simulate allgather/allpairs -p ranks=2 -b 1K -e 1K",
	"topo":        "topo h200",
	"trace-chunk": "trace-chunk allgather/allpairs 0:output[0] -p ranks=2",
	"tune":        "tune --show --nccl none",
	"verify":      "verify allgather/allpairs -p ranks=2",
	"with":        "with --print",
}

// refusal is how a command refuses a value and names those that there are.
var refusal = regexp.MustCompile(`there are |takes \S+,? (\S+, )*(or|and) \S+, not|takes \S+ or \S+|did you mean`)

// A flag that refuses a value, and names the values that there are, offers some of them, and refuses none that it
// offers.
func TestClosedSetsComplete(t *testing.T) {
	t.Chdir(t.TempDir())
	try := func(cmd *cobra.Command, flag, value string) string {
		var stdout, stderr bytes.Buffer
		args := append(strings.Fields(cheap[cmd.Name()]), "--"+flag+"="+value)
		main1(args, strings.NewReader(""), &stdout, &stderr)
		return stderr.String()
	}
	closed := 0
	for _, cmd := range rootCommand(silent()).Commands() {
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			if kind := flag.Value.Type(); flag.Name == "help" || kind == "bool" || kind == "duration" {
				return
			}
			if flag.Name == "procs" {
				return // it would start this test's program again again and again
			}
			if cheap[cmd.Name()] == "" {
				t.Errorf("%s has --%s, and no call here", cmd.Name(), flag.Name)
			}
			offered := completed(t, append(strings.Fields(cheap[cmd.Name()]), "--"+flag.Name, "")...)
			bad := "zz9"
			if strings.Contains(flag.Value.Type(), "int") {
				bad = "97"
			}
			text := try(cmd, flag.Name, bad)
			if !refusal.MatchString(text) {
				return
			}
			closed++
			if len(offered) == 0 {
				t.Errorf("%s --%s offers nothing, and says: %s", cmd.Name(), flag.Name, text)
			}
			for _, value := range offered {
				if strings.HasSuffix(value, "=") || strings.HasSuffix(value, "/") {
					continue // a part of a value
				}
				if text := try(cmd, flag.Name, value); refusal.MatchString(text) {
					t.Errorf("%s --%s=%s, which is offered, is refused: %s", cmd.Name(), flag.Name, value, text)
				}
			}
		})
	}
	if closed < 30 {
		t.Errorf("only %d flags refuse values", closed)
	}
}

// Each name that a refusal lists is offered: completion and messages go by the same tables.
func TestCompletionOffersAll(t *testing.T) {
	for _, line := range []string{
		"compile allreduce/ring --target", "run allreduce/ring --dtype", "run allreduce/ring --op",
		"run allreduce/ring --device",
		"verify allreduce/ring --protocol", "show allreduce/ring",
	} {
		var stderr bytes.Buffer
		main1(append(strings.Fields(line), "zz9"), strings.NewReader(""), &bytes.Buffer{}, &stderr)
		_, names, found := strings.Cut(strings.TrimSpace(stderr.String()), "there are ")
		if !found {
			t.Errorf("%s zz9 says %s", line, stderr.String())
			continue
		}
		offered := completed(t, append(strings.Fields(line), "")...)
		if want := strings.Split(names, ", "); !slices.Equal(offered, want) {
			t.Errorf("%s offers %v, and there are %v", line, offered, want)
		}
	}
}
