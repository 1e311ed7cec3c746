package files

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// confFile says whose bundles all users of the machine take (docs/bundle.md). Tests name another.
// runtime/src/bundle/trust.cc reads it by the same rules.
var confFile = "/etc/mscclc.conf"

// mostConf is the most bytes of confFile.
const mostConf = 64 << 10

// Untrusted says why the library refuses a bundle, whatever it holds, or "": it must belong to the user, to root, or to
// whom the machine's configuration names, and nobody else may write to it.
func Untrusted(f *os.File) string {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return "it is no regular file"
	}
	if info.Mode().Perm()&WritableByOthers != 0 {
		return "other users may write to it (chmod go-w)"
	}
	uid := Owner(info)
	if uid == 0 || uid == os.Geteuid() {
		return ""
	}
	named, why := confNames(f.Name(), uid)
	if named {
		return ""
	}
	if why != "" {
		why = "; " + confFile + " does not count: " + why
	}
	return fmt.Sprintf("it belongs to another user (%d), whom %s does not name; copy it to a file of your own%s", uid, confFile, why)
}

// confNames reports whether confFile names the file or its owner. why says that confFile is there, but does not count.
func confNames(file string, uid int) (named bool, why string) {
	conf, err := os.Open(confFile)
	if err != nil {
		return false, ""
	}
	defer conf.Close()
	info, err := conf.Stat()
	switch {
	case err != nil || !info.Mode().IsRegular():
		return false, "it is no regular file"
	case Owner(info) != 0:
		return false, "it is not root's"
	case info.Mode().Perm()&WritableByOthers != 0:
		return false, "other users may write to it"
	case info.Size() > mostConf:
		return false, "it is too long"
	}
	text := make([]byte, info.Size())
	n, _ := conf.ReadAt(text, 0)
	real, err := filepath.Abs(file)
	if err == nil {
		real, err = filepath.EvalSymlinks(real)
	}
	for line := range strings.Lines(string(text[:n])) {
		words := strings.Fields(line)
		if len(words) != 2 {
			continue
		}
		named = named || (words[0] == "bundle-owner" && words[1] == strconv.Itoa(uid)) ||
			(words[0] == "bundle" && err == nil && words[1] == real)
	}
	return named, ""
}
