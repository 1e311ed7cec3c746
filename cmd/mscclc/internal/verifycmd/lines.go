package verifycmd

import (
	"fmt"
	"strings"

	"mscclc/cmd/mscclc/internal/cli"
)

// overNodes says for which nodes a program is proven, or "" for one.
func overNodes(nodes cli.Nodes) string {
	switch {
	case !nodes.Several():
		return ""
	case strings.Contains(string(nodes), ","):
		return fmt.Sprintf("; over nodes of %s ranks", nodes)
	}
	return fmt.Sprintf("; over %s nodes", nodes)
}
