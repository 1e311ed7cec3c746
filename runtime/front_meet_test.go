package runtime_test

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"mscclc/bundle"
	"mscclc/executor/data"
	"mscclc/internal/covering"
	library "mscclc/runtime"
)

// gathered are calls that NCCL's mock does as well as a program.
var gathered = []string{"allgather 0 1000 7 0 0 0 v", "sync", "destroy 0"}

// ofRank gives more of the environment to one rank.
func ofRank(rank int, env ...string) func(int) []string {
	return func(of int) []string {
		if of != rank {
			return nil
		}
		return env
	}
}

// kept fails the test where a call ran by a program, or where the output has other lines than one with a text.
func (r *run) kept(t *testing.T, want string) {
	t.Helper()
	if strings.Contains(r.stats, `"native":true`) || strings.Count(r.output, "NCCL runs all calls") != 1 || !strings.Contains(r.output, want) {
		t.Errorf("calls were %s, and %q is not in the output:\n%s", r.stats, want, r.output)
	}
}

// natives fails the test where a call did not run by a program.
func (r *run) native(t *testing.T) {
	t.Helper()
	if strings.Contains(r.stats, `"native":false`) || !strings.Contains(r.stats, `"native":true`) {
		t.Errorf("calls were: %s\n%s", r.stats, r.output)
	}
}

// TestFrontMissing: where one rank's host has no library, NCCL runs all calls of all ranks, also those of a split. One
// line of all ranks says so, and names that rank.
func TestFrontMissing(t *testing.T) {
	for missing := range 2 {
		s := site{how: "preload", ranks: 3, bundle: wholeBundle(t, 3), env: []string{"MSCCLC_MEET=2", "MSCCLC_DEBUG=WARN"},
			of: ofRank(missing, "LD_PRELOAD=/not/on/this/node.so")}
		r := s.do(t, "init 0", "split 0 1 1", "allgather 0 1000 7 0 0 0 v", "allgather 1 1000 7 0 0 0 v", "sync", "destroy 1", "destroy 0").well(t)
		want := fmt.Sprintf("communicator of 3 ranks: rank %d did not come within 2 s: it has no such library", missing)
		if missing == 0 { // it made the ncclUniqueId
			want = "its ncclUniqueId does not say where the ranks meet: the process that made it has no such library"
		}
		r.kept(t, want)
	}
}

// TestFrontLate: NCCL makes a communicator that does not block later on one rank. Within the limit all ranks run
// programs, and after it none does.
func TestFrontLate(t *testing.T) {
	t.Parallel()
	calls := append([]string{"init 0 0 0", "wait 0"}, gathered...)
	for _, how := range []string{"preload", "forward"} {
		s := site{how: how, ranks: 2, bundle: wholeBundle(t, 2), of: ofRank(1, "MSCCLC_FAKE_INIT_MS=1500")}
		s.do(t, calls...).well(t).native(t)
		s.env = []string{"MSCCLC_MEET=0.5"}
		s.do(t, calls...).well(t).kept(t, "rank 1 did not come within 0.5 s")
	}
}

// TestFrontNonBlocking: a call on a communicator that does not block waits for no peer. One that comes too early is an
// error, as of NCCL. A peer that was killed is an error.
func TestFrontNonBlocking(t *testing.T) {
	t.Parallel()
	file := wholeBundle(t, 2)
	for _, how := range []string{"preload", "forward"} {
		s := site{how: how, ranks: 2, bundle: file}
		r := s.do(t, "init 0 0 0", "wait 0", "meet a", "@1 sleep 3000", "timed allreduce 0 1000 7 0 0 0 v", "sync", "destroy 0").well(t)
		r.native(t)
		r.within(t, "allreduce", 2000)
		s.env = []string{"MSCCLC_TIMEOUT=2"}
		r = s.do(t, "init 0 0 0", "wait 0", "meet a", "kill 1", "@0 expect -1", "@0 timed allreduce 0 1000 7 0 0 0",
			"timed untilerror 0", "abort 0")
		if r.failed[0] != nil || !strings.Contains(r.output, "rank 0: error 6: ") {
			t.Errorf("rank 0 ends with %v\n%s", r.failed[0], r.output)
		}
		r.within(t, "allreduce", 2000)
		s.of, s.env = ofRank(1, "MSCCLC_FAKE_INIT_MS=1500"), nil
		s.do(t, "@0 timed init 0 0 0", "@1 init 0 0 0", "@0 expect 4", "@0 allreduce 0 10 7 0 0 0", "wait 0", "allreduce 0 1000 7 0 0 0 v",
			"sync", "destroy 0").well(t).within(t, "init", 1000)
	}
}

// TestFrontKilledMeeting: a rank that ends before all ranks have come is an error of the others. Rank 1 comes after
// that, however slowly the ranks start.
func TestFrontKilledMeeting(t *testing.T) {
	t.Parallel()
	ends := []string{"@0 untilerror 0", "@1 untilerror 0", "expect 6", "allreduce 0 10 7 0 0 0", "timed abort 0",
		"@0 sleep 6000"}
	for how, begins := range map[string][]string{
		"alone":   {"@0 init 0 0 0", "@2 init 0 0 0", "sleep 1000", "meet a", "kill 2", "@1 sleep 1000", "@1 init 0 0 0"},
		"preload": {"meet a", "init 0 0 0", "sleep 1000", "kill 2"},
	} {
		s := site{how: how, ranks: 3, bundle: wholeBundle(t, 3), of: ofRank(1, "MSCCLC_FAKE_INIT_MS=5000")}
		r := s.do(t, append(begins, ends...)...)
		if r.failed[0] != nil || r.failed[1] != nil || strings.Count(r.output, "the connection to rank 2 was lost") < 2 {
			t.Errorf("%s: the ranks end with %v\n%s", how, r.failed, r.output)
		}
		r.patient(t, "abort", 2*time.Second)
	}
}

// TestFrontChildren: no program is for the world, but children of it run programs. It may be larger than any bundle's.
func TestFrontChildren(t *testing.T) {
	split := func(colors int) []string {
		return []string{"init 0", fmt.Sprint("split 0 1 ", colors), "allreduce 1 1000 7 0 0 0 v", "sync", "destroy 1", "destroy 0"}
	}
	file := wholeBundle(t, 2)
	for _, s := range []site{{how: "preload", ranks: 4}, {how: "alone", ranks: 4}, {how: "forward", ranks: 18, threads: true}} {
		s.bundle = file
		r := s.do(t, split(s.ranks/2)...).well(t)
		r.native(t)
	}
}

// TestFrontUsedIdentity: an identity that is used again, or that NCCL_COMM_ID gives, leaves all calls to NCCL.
func TestFrontUsedIdentity(t *testing.T) {
	s := site{how: "preload", ranks: 2, bundle: wholeBundle(t, 2)}
	r := s.do(t, "init 0", "allreduce 0 1000 7 0 0 0 v", "meet a", "again 1 0", "allgather 1 1000 7 0 0 0 v", "sync", "destroy 1", "destroy 0").well(t)
	if strings.Count(r.output, "its ncclUniqueId was used before") != 1 || !strings.Contains(r.stats, `"ncclAllReduce","native":true`) {
		t.Errorf("calls were: %s\n%s", r.stats, r.output)
	}
	s.env = []string{"NCCL_COMM_ID=127.0.0.1:1"}
	s.do(t, append([]string{"init 0"}, gathered...)...).well(t).kept(t, "its ncclUniqueId does not say where the ranks meet: NCCL_COMM_ID is set")
	s = site{how: "preload", ranks: 1, bundle: s.bundle}
	s.do(t, "childmakes").well(t)
}

// TestFrontOtherVersion: ranks with another version of the messages leave all calls to NCCL, and a warning names both.
func TestFrontOtherVersion(t *testing.T) {
	tree, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	made, err := parts()
	if err != nil {
		t.Fatal(err)
	}
	has := func(name string) bool {
		return slices.Contains([]string{"consensus/hub.cc", "meeting/line.cc", "meeting/greet.cc"}, name)
	}
	again, err := library.Compile(tree, filepath.Join(scratch, "version"), has, "-DMSCCLC_MEETING_VERSION=99")
	if err != nil {
		t.Fatal(err)
	}
	objects, err := filepath.Glob(filepath.Join(made, "objects", "*.o"))
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range objects {
		for _, n := range again {
			if filepath.Base(o) == filepath.Base(n) {
				objects[i] = n
			}
		}
	}
	other := filepath.Join(t.TempDir(), "other.so")
	if err := library.Link(other, append(objects, "testdata/fake_engine.cc"), "-std=c++17", "-fPIC", "-fvisibility=hidden", "-shared"); err != nil {
		t.Fatal(err)
	}
	for rank := range 2 {
		s := site{how: "preload", mock: true, ranks: 2, bundle: "testdata/client/client.h", of: ofRank(rank, "LD_PRELOAD="+other)}
		r := s.do(t, append([]string{"init 0"}, gathered...)...).well(t)
		want := regexp.MustCompile(`rank 1 has version \d+ of this library's messages, and the process that made the ncclUniqueId has version \d+`)
		if !want.MatchString(r.output) || strings.Contains(r.stats, `"native":true`) {
			t.Errorf("calls were: %s\n%s", r.stats, r.output)
		}
	}
}

// tailOf reads where an identity says that its ranks meet.
func tailOf(t *testing.T, file string) string {
	t.Helper()
	end := time.Now().Add(covering.Patience(10 * time.Second))
	for ; time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if id, err := os.ReadFile(file); err == nil && len(id) == 128 {
			tail := id[64:]
			return net.JoinHostPort(net.IP(tail[12:16]).String(), fmt.Sprint(binary.BigEndian.Uint16(tail[10:])))
		}
	}
	t.Error("there is no identity")
	return ""
}

// TestFrontSilent: connections that say nothing, or that say something else, delay no rank, and are ended.
func TestFrontSilent(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"alone", "preload"} {
		dir := t.TempDir()
		s := site{how: how, ranks: 2, bundle: wholeBundle(t, 2), env: []string{"MSCCLC_FAKE_DIR=" + dir}}
		done := make(chan int)
		go func() {
			at, ended := tailOf(t, filepath.Join(dir, "id-0")), 0
			var list []net.Conn
			for i := range 400 {
				c, err := net.Dial("tcp", at)
				if err != nil {
					t.Error(err)
					break
				}
				if i%4 == 0 {
					fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: somebody\r\n\r\n")
				}
				list = append(list, c)
			}
			os.WriteFile(filepath.Join(dir, "meet-go-0"), nil, 0o600)
			for _, c := range list {
				c.SetReadDeadline(time.Now().Add(covering.Patience(10 * time.Second)))
				if n, err := c.Read(make([]byte, 1)); n == 0 && !os.IsTimeout(err) {
					ended++
				}
				c.Close()
			}
			done <- ended
		}()
		r := s.do(t, "@1 meet go", "@0 init 0", "@1 timed init 0", "allreduce 0 1000 7 0 0 0 v", "sync", "sleep 4000", "destroy 0").well(t)
		r.native(t)
		r.within(t, "init", 5000)
		if ended := <-done; ended != 400 {
			t.Errorf("%d of 400 connections were ended", ended)
		}
	}
}

// TestFrontNoRoom: a process that may open too few files for the ranks of a communicator leaves it to NCCL. Either the
// hub or a rank finds that out first. The client's own memory takes descriptors, too, which are back after a while.
func TestFrontNoRoom(t *testing.T) {
	script := filepath.Join(t.TempDir(), "few")
	made, err := parts()
	if err != nil {
		t.Fatal(err)
	}
	text := "#!/bin/sh\nulimit -n 30\nexec " + filepath.Join(made, "client") + " \"$@\"\n"
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	s := site{how: "preload", ranks: 18, threads: true, bundle: wholeBundle(t, 2), program: script}
	r := s.do(t, append([]string{"init 0", "sleep 500"}, gathered...)...).well(t)
	r.kept(t, " left ")
	for _, why := range []string{"the process that made the ncclUniqueId has too few descriptors left for 18 ranks",
		"its process has no descriptor left (ulimit -n)"} {
		if strings.Contains(r.output, why) {
			return
		}
	}
	t.Errorf("no line says why: %s", r.output)
}

// TestFrontAddress: ranks meet at the address that the variable names, of IPv4 or IPv6, with NCCL and without.
func TestFrontAddress(t *testing.T) {
	for _, address := range []string{"127.0.0.1", "::1"} {
		l, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
		if err != nil {
			t.Logf("%s is not tried: %v", address, err)
			continue
		}
		l.Close()
		for _, how := range []string{"preload", "alone", "both"} {
			s := site{how: how, ranks: 2, bundle: wholeBundle(t, 2), env: []string{"MSCCLC_ADDRESS=" + address}}
			s.do(t, append([]string{"init 0"}, gathered...)...).well(t).native(t)
		}
	}
	s := site{how: "preload", ranks: 2, bundle: wholeBundle(t, 2), env: []string{"MSCCLC_ADDRESS=192.0.2.1", "MSCCLC_MEET=1"}}
	s.do(t, append([]string{"init 0"}, gathered...)...).well(t).kept(t, "the process that made the ncclUniqueId cannot be reached at 192.0.2.1, port ")
}

// TestFrontCodes: without NCCL, arguments that it refuses have its codes, also where there is one rank.
func TestFrontCodes(t *testing.T) {
	for ranks := 1; ranks <= 2; ranks++ {
		s := site{how: "alone", ranks: ranks, bundle: wholeBundle(t, 2)}
		s.do(t, "init 0", "codes 0", "allreduce 0 1000 7 0 0 0 v", "sync", "destroy 0").well(t)
	}
}

// TestFrontLeaks: many communicators at once, again and again, leave no file and no stream.
func TestFrontLeaks(t *testing.T) {
	b := makeBundle(t, []data.DType{data.F32}, 1, 2)
	s := site{how: "preload", ranks: 2, bundle: write(t, bundle.Encode(b)), env: []string{"CLIENT_ALARM=110"}}
	r := s.do(t, "many 70 0", "meet a", "sleep 500", "counts", "many 70 1", "meet b", "sleep 500", "counts", "many 70 2", "meet c", "sleep 500", "counts").well(t)
	r.native(t)
	counts := regexp.MustCompile(`rank 0: (\d+ files, \d+ threads)`).FindAllStringSubmatch(r.output, -1)
	if len(counts) != 3 || counts[1][1] != counts[2][1] {
		t.Errorf("after each round there are %q\n%s", counts, r.output)
	}
}
