//go:build !unix

package withcmd

import "mscclc/cmd/mscclc/internal/cli"

func become(path string, _, _ []string) error {
	return cli.Unavailable("%s cannot be run: the library is for Linux", path)
}
