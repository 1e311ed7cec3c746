package benchcmd

import (
	"strings"
	"testing"
)

func TestJobOf(t *testing.T) {
	for env, want := range map[string]*processJob{
		"":                    nil,
		"RANK=0":              nil,
		"RANK=0 WORLD_SIZE=1": nil,
		"RANK=2 WORLD_SIZE=4": {2, 4, 2, "127.0.0.1:29401"},
		"OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 MASTER_ADDR=::1 MASTER_PORT=5": {1, 2, 1, "[::1]:6"},
		"RANK=9 WORLD_SIZE=16 LOCAL_RANK=1":                                           {9, 16, 1, "127.0.0.1:29401"},
		"RANK=2 WORLD_SIZE=4 MSCCLC_INDEX=0 MSCCLC_SIZE=2 MSCCLC_HUB=h:1":             {0, 2, 0, "h:1"},
	} {
		vars := map[string]string{}
		for _, v := range strings.Fields(env) {
			name, value, _ := strings.Cut(v, "=")
			vars[name] = value
		}
		job, err := jobOf(func(name string) string { return vars[name] })
		if err != nil || (job == nil) != (want == nil) || job != nil && *job != *want {
			t.Errorf("%s: %+v, %v", env, job, err)
		}
	}
	for _, env := range []map[string]string{{"RANK": "4", "WORLD_SIZE": "4"}, {"RANK": "-1", "WORLD_SIZE": "4"},
		{"RANK": "0", "WORLD_SIZE": "4", "MASTER_PORT": "x"}} {
		if job, err := jobOf(func(name string) string { return env[name] }); err == nil {
			t.Errorf("%v: %+v", env, job)
		}
	}
}
