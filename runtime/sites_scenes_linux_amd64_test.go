package runtime_test

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mscclc/bundle"
	"mscclc/executor/data"
	"mscclc/selection"
)

// A faultScene is a scene of testdata/faulty_scenes.cc, and where it is played.
type faultScene struct {
	name, play string
	site
	bundled func(t *testing.T, ranks int) []byte
	owner   int // of the bundle
}

func (s *faultScene) String() string { return s.name }

func stagedBundle(ctas int) func(t *testing.T, ranks int) []byte {
	return func(t *testing.T, ranks int) []byte {
		return bundle.Encode(makeBundle(t, []data.DType{data.F32}, ctas, ranks))
	}
}

func mixedBundle(t *testing.T, ranks int) []byte {
	spec := bundle.Spec{Device: device, Ranks: []int{ranks}, DTypes: []data.DType{data.F32}}
	for _, r := range bundle.Ladder(ranks, 4) {
		if !r.Kind.Rooted() {
			r.Placement, r.When = selection.Direct, r.When|bundle.WhenWindows
			spec.Rules = append(spec.Rules, r)
		}
	}
	spec.Rules = append(spec.Rules, bundle.Ladder(ranks, 4)...)
	b, err := bundle.Build(spec)
	if err != nil {
		t.Fatal(err)
	}
	return bundle.Encode(b)
}

func candidateBundle(t *testing.T, ranks int) []byte {
	rules, _ := bundle.RulesFor(ranks, 4, nil, true)
	b, err := bundle.Build(bundle.Spec{Device: device, Ranks: []int{ranks}, DTypes: []data.DType{data.F32}, CTAs: 4,
		Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	return bundle.Encode(b)
}

func netBundle(t *testing.T, ranks int) []byte {
	return bundle.Encode(nodesBundle(t, []data.DType{data.F32}, ranks, "2"))
}

func faultScenes() []*faultScene {
	late := []string{"MSCCLC_FAKE_LATE_SPLIT=1"}
	net := []string{"MSCCLC_NET=test:faults", "FAULTS_NODE=2"}
	debug := []string{"MSCCLC_DEBUG=TRACE", "MSCCLC_DEBUG_FILE=/dev/null"}
	work := []string{"MSCCLC_METRICS=$WORK/metrics", "MSCCLC_PERIOD=0.01", "NVTX_LOG=/dev/null"}
	injected := append(work[:3:3], "NVTX_INJECTION64_PATH=$LIBRARY/libnvToolsExt.so.1")
	slow := []string{"MSCCLC_FAKE_SLOW_US=200"}
	tools := []string{"NVTX_LOG=/dev/null", "LD_PRELOAD=$LIBRARY/libnvToolsExt.so.1"}
	list := []*faultScene{
		{"alone", "calls", site{how: "alone", ranks: 2, env: debug}, stagedBundle(4), 0},
		{"alone, threads", "calls", site{how: "alone", ranks: 2, threads: true}, stagedBundle(4), 0},
		{"preload", "calls", site{how: "preload", ranks: 2}, stagedBundle(4), 0},
		{"windows, threads", "windows", site{how: "alone", ranks: 2, threads: true}, mixedBundle, 0},
		{"windows", "windows", site{how: "forward", ranks: 2, env: []string{"FAULTY_REGISTERS=1"}}, mixedBundle, 0},
		{"life", "life", site{how: "preload", ranks: 2, env: late}, stagedBundle(4), 0},
		{"life, alone", "life", site{how: "alone", ranks: 2}, stagedBundle(4), 0},
		{"oversubscribed", "oversubscribed", site{how: "forward", ranks: 2, threads: true}, stagedBundle(32), 0},
		{"splits", "splits", site{how: "alone", ranks: 2}, stagedBundle(4), 0},
		{"none", "leave", site{how: "preload", ranks: 2, env: []string{"MSCCLC_NCCL=none"}}, stagedBundle(4), 0},
		{"leave", "leave", site{how: "preload", ranks: 2}, stagedBundle(4), 0},
		{"nodes", "calls", site{how: "alone", ranks: 4, threads: true, env: net}, netBundle, 0},
		{"nodes, preload", "calls", site{how: "preload", ranks: 4, threads: true, env: net}, netBundle, 0},
		{"later", "later", site{how: "preload", ranks: 2, late: true}, stagedBundle(4), 0},
		{"learns", "learns", site{how: "preload", ranks: 2, env: slow}, candidateBundle, 0},
		{"learns, threads", "learns", site{how: "forward", ranks: 2, threads: true, env: slow}, candidateBundle, 0},
		{"learned", "learns", site{how: "preload", ranks: 2, env: append(slow[:1:1], "MSCCLC_LEARNED=$WORK/learned")},
			candidateBundle, 0},
		{"watched", "watched", site{how: "preload", ranks: 2, env: injected}, stagedBundle(4), 0},
		{"watched, tools", "watched", site{how: "alone", ranks: 2, env: append(work[:2:2], tools...)}, stagedBundle(4), 0},
	}
	if os.Geteuid() == 0 {
		list = append(list, &faultScene{"others", "leave", site{how: "alone", ranks: 2}, stagedBundle(4), otherUser})
	}
	return list
}

// A player is a program that plays a scene, over and over.
type player struct {
	scene *faultScene
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Scanner
	err   *strings.Builder
}

// startPlayer starts a program that plays a scene.
func startPlayer(t *testing.T, scene *faultScene, file string) *player {
	t.Helper()
	dir, err := faulty()
	if err != nil {
		t.Fatal(err)
	}
	s := scene.site
	s.library, s.bundle = dir, file
	work := t.TempDir()
	p := &player{scene: scene, err: &strings.Builder{}}
	p.cmd = exec.CommandContext(t.Context(), filepath.Join(dir, "faulty"), scene.play)
	p.cmd.Dir = dir
	if err := os.Mkdir(filepath.Join(work, "metrics"), 0o700); err != nil {
		t.Fatal(err)
	}
	p.cmd.Env = append(s.environment(t, work), "MSCCLC_MEET=1", "MSCCLC_FAULTS="+filepath.Join(work, "control"))
	for i, value := range p.cmd.Env {
		p.cmd.Env[i] = strings.NewReplacer("$WORK", work, "$LIBRARY", dir).Replace(value)
	}
	if s.threads {
		p.cmd.Env = append(p.cmd.Env, "THREADS=1")
	}
	out, err1 := p.cmd.StdoutPipe()
	in, err2 := p.cmd.StdinPipe()
	p.cmd.Stderr = p.err
	if err := cmp.Or(err1, err2, p.cmd.Start()); err != nil {
		t.Fatal(err)
	}
	p.in, p.out = in, bufio.NewScanner(out)
	return p
}

// ask gives a command, and returns the lines before the answer, whether a call failed, and the answer.
func (p *player) ask(format string, args ...any) (lines []string, fired bool, answer string) {
	fmt.Fprintf(p.in, format+"\n", args...)
	for p.out.Scan() {
		rest, is := strings.CutPrefix(p.out.Text(), "answer ")
		if !is {
			lines = append(lines, p.out.Text())
			continue
		}
		words := strings.SplitN(rest, " ", 3)
		return lines, words[0] != "0", words[2]
	}
	return lines, false, "crash: the program has ended"
}

func (p *player) end() {
	p.in.Close()
	p.cmd.Wait()
}
