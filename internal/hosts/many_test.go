//go:build linux

package hosts_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"mscclc/internal/covering"
	"mscclc/internal/hosts"
)

// What 64 processes may take.
const (
	manyTime  = 60 * time.Second
	manyBytes = 4 << 30
)

// TestManyProcesses has 64 processes be 8 nodes of 8. They take little time and memory.
func TestManyProcesses(t *testing.T) {
	hasUCX(t)
	n := hosts.New(t, 8)
	if _, err := program(); err != nil {
		t.Fatal(err)
	}
	args := []string{"run", "allreduce/ring", "--ranks", "64", "--sided", "lowered", "--bytes", "64K", "--timeout", "60s"}
	begin := time.Now()
	j := start(t, n, 8, nil, args...)
	stop, most := make(chan bool), make(chan int64)
	go func() {
		var peak int64
		for {
			select {
			case <-stop:
				most <- peak
				return
			case <-time.After(200 * time.Millisecond):
				peak = max(peak, j.memory())
			}
		}
	}()
	j.must(t, args)
	took := time.Since(begin)
	close(stop)
	bytes := <-most
	t.Logf("64 processes took %v, and %d MiB of memory at most", took, bytes>>20)
	if took > covering.Patience(manyTime) || bytes > manyBytes || bytes < 64<<20 {
		t.Errorf("the limits are %v and %d MiB", manyTime, manyBytes>>20)
	}
}

// memory returns what the processes of a job have together. What several share counts once.
func (j *job) memory() (bytes int64) {
	for _, c := range j.processes {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", c.Process.Pid))
		_, after, found := strings.Cut(string(text), "\nPss:")
		if err != nil || !found {
			continue // it has ended
		}
		kilobytes, err := strconv.ParseInt(strings.Fields(after)[0], 10, 64)
		if err == nil {
			bytes += kilobytes << 10
		}
	}
	return bytes
}
