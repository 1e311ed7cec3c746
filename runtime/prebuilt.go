package runtime

import (
	"cmp"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"mscclc/executor/fibers"
	"mscclc/executor/gpu"
	"mscclc/kernels"
	"mscclc/transport"
)

// ErrOther is the error of Prebuilt where the libraries were built of other sources than those of this program.
var ErrOther = errors.New("libraries of another version")

// Prebuilt returns the folder with the libraries that were installed with a program: lib/mscclc or lib beside its
// folder bin, after links are resolved. It returns "" if there is none. If there are only libraries of another
// version, it returns their folder and ErrOther. PrebuiltC is Prebuilt for CLibrary.
func Prebuilt(program string) (string, error) { return ncclPart.prebuilt(program) }

// PrebuiltC is described at Prebuilt.
func PrebuiltC(program string) (string, error) { return cPart.prebuilt(program) }

func (p *part) prebuilt(program string) (string, error) {
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		return "", nil
	}
	var other string
	for _, at := range []string{"lib/mscclc", "lib"} {
		dir := filepath.Join(filepath.Dir(filepath.Dir(real)), filepath.FromSlash(at))
		if !p.whole(dir) {
			continue
		}
		if same, err := p.ofTheseSources(dir); same || err != nil {
			return dir, err
		}
		other = cmp.Or(other, dir)
	}
	if other != "" {
		return other, ErrOther
	}
	return "", nil
}

// ofTheseSources reports whether the libraries in a folder were built of the sources of this program.
func (p *part) ofTheseSources(dir string) (bool, error) {
	for _, name := range p.files {
		want, err := buildID(name)
		if err != nil {
			return false, err
		}
		f, err := elf.Open(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return false, err
		}
		var note []byte
		if s := f.Section(".note.gnu.build-id"); s != nil {
			note, _ = s.Data()
		}
		f.Close()
		if !strings.HasSuffix(hex.EncodeToString(note), want) {
			return false, nil
		}
	}
	return true, nil
}

// buildID returns the build ID of a library, as hexadecimal digits: a hash of its name and of the sources. The linker
// writes it into the library, so that no file beside it is needed.
func buildID(name string) (string, error) {
	sources, err := sourcesHash()
	if err != nil {
		return "", err
	}
	id := sha256.Sum256([]byte(name + " " + sources))
	return hex.EncodeToString(id[:20]), nil
}

// sourcesHash returns a hash of all sources of the libraries.
func sourcesHash() (string, error) {
	h := sha256.New()
	for _, sources := range []fs.FS{Sources, kernels.Sources, fibers.Sources, gpu.Sources, transport.Sources} {
		err := fs.WalkDir(sources, ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := fs.ReadFile(sources, name)
			if err != nil {
				return err
			}
			fmt.Fprintf(h, "%s %d\n%s", name, len(text), text)
			return nil
		})
		if err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:12]), nil
}
