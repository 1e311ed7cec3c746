package cli

import "strings"

// Settings returns the parameters of a file that -p sets, each as NAME=VALUE and once.
func Settings(params []string) (map[string]string, error) {
	set := map[string]string{}
	for _, p := range params {
		name, value, ok := strings.Cut(p, "=")
		if !ok || name == "" {
			return nil, Usagef("-p takes NAME=VALUE, not %q", p)
		}
		if _, twice := set[name]; twice {
			return nil, Usagef("%s is set twice", name)
		}
		set[name] = value
	}
	return set, nil
}
