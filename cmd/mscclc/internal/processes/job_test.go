package processes

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/executor/exchange"
)

func TestOf(t *testing.T) {
	for env, want := range map[string]*Job{
		"":                    nil,
		"RANK=0":              nil,
		"RANK=0 WORLD_SIZE=1": nil,
		"RANK=2 WORLD_SIZE=4": {Index: 2, Size: 4, Local: 2, Beside: 4, place: exchange.At("127.0.0.1:29401")},
		"OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 MASTER_ADDR=::1 MASTER_PORT=5":             {Index: 1, Size: 2, Local: 1, Beside: 2, place: exchange.At("[::1]:6")},
		"RANK=9 WORLD_SIZE=16 LOCAL_RANK=1 LOCAL_WORLD_SIZE=8":                                    {Index: 9, Size: 16, Local: 1, Beside: 8, place: exchange.At("127.0.0.1:29401")},
		"SLURM_PROCID=0 SLURM_NTASKS=4":                                                           nil, // of sbatch
		"SLURM_PROCID=3 SLURM_STEP_NUM_TASKS=4 SLURM_LOCALID=1":                                   {Index: 3, Size: 4, Local: 1, Beside: 4, place: exchange.At("127.0.0.1:29401")},
		"RANK=2 WORLD_SIZE=4 MSCCLC_INDEX=0 MSCCLC_SIZE=2 MSCCLC_HUB=h:1":                         {Index: 0, Size: 2, Local: 0, Beside: 2, place: exchange.At("h:1")},
		"SLURM_PROCID=3 SLURM_STEP_NUM_TASKS=8 SLURM_LOCALID=1 SLURM_STEP_TASKS_PER_NODE=2(x4)":   {Index: 3, Size: 8, Local: 1, Beside: 2, place: exchange.At("127.0.0.1:29401")},
		"SLURM_PROCID=3 SLURM_STEP_NUM_TASKS=8 SLURM_LOCALID=1 SLURM_STEP_TASKS_PER_NODE=2(x3),1": {Index: 3, Size: 8, Local: 1, Beside: 8, place: exchange.At("127.0.0.1:29401")},
	} {
		vars := map[string]string{}
		for _, v := range strings.Fields(env) {
			name, value, _ := strings.Cut(v, "=")
			vars[name] = value
		}
		job, err := Of(func(name string) string { return vars[name] })
		if err != nil || (job == nil) != (want == nil) || job != nil && !reflect.DeepEqual(*job, *want) {
			t.Errorf("%s: %+v, %v", env, job, err)
		}
	}
	for _, env := range []map[string]string{{"RANK": "4", "WORLD_SIZE": "4"}, {"RANK": "-1", "WORLD_SIZE": "4"},
		{"RANK": "0", "WORLD_SIZE": "4", "MASTER_PORT": "x"}, {"MSCCLC_HUB": "h:1"}, {"MSCCLC_HUB": "h:1", "MSCCLC_SIZE": "2"},
		{"MSCCLC_INDEX": "0"}, {"MSCCLC_SIZE": "2", "RANK": "0", "WORLD_SIZE": "2"}} {
		if job, err := Of(func(name string) string { return env[name] }); err == nil {
			t.Errorf("%v: %+v", env, job)
		}
	}
	for _, hub := range []string{"h", "h:", ":1", "h:0", "h:65536", "h:-1", "h:http", "h:1:2", "::1:5"} {
		env := map[string]string{"MSCCLC_HUB": hub, "MSCCLC_INDEX": "0", "MSCCLC_SIZE": "2"}
		_, err := Of(func(name string) string { return env[name] })
		var usage cli.UsageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), "port from 1 to 65535") ||
			!strings.Contains(err.Error(), "MSCCLC_HUB=127.0.0.1:29401") {
			t.Errorf("MSCCLC_HUB=%s: %v", hub, err)
		}
	}
	last := map[string]string{"RANK": "0", "WORLD_SIZE": "4", "MASTER_PORT": "65535"}
	if _, err := Of(func(name string) string { return last[name] }); err == nil ||
		!strings.Contains(err.Error(), "from 1 to 65534: mscclc takes the port above it") {
		t.Errorf("the last port: %v", err)
	}
}
