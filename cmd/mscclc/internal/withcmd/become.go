//go:build unix

package withcmd

import (
	"syscall"

	"mscclc/cmd/mscclc/internal/cli"
)

// become replaces this process by a program.
func become(path string, command, env []string) error {
	if err := syscall.Exec(path, command, unique(env)); err != nil {
		return cli.Unavailable("%s cannot be run: %v", command[0], err)
	}
	return nil
}

// unique keeps the last value of each variable.
func unique(env []string) (list []string) {
	at := map[string]int{}
	for _, v := range env {
		name := v
		for i := range v {
			if v[i] == '=' {
				name = v[:i]
				break
			}
		}
		if i, seen := at[name]; seen {
			list[i] = v
			continue
		}
		at[name] = len(list)
		list = append(list, v)
	}
	return list
}
