//go:build !unix

package withcmd

func become(path string, _, _ []string) error {
	return unavailable("%s cannot be run: the library is for Linux", path)
}
