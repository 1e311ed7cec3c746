package bundlecmd

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"mscclc/algorithms"
	"mscclc/bundle"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/lang"
)

// named reads the flags --program. It returns the programs, and the files that they name beside own.
func (f *bundleFlags) named(own []string) (list []bundle.NamedSpec, files []string, err error) {
	names := algorithms.Names()
	for _, given := range f.programs {
		words := strings.Split(given, ",")
		name, file, ok := strings.Cut(words[0], "=")
		if !ok || name == "" || file == "" {
			return nil, nil, cli.Usagef("--program takes NAME=FILE, as in halo=halo.mscl; not %q", given)
		}
		spec := bundle.NamedSpec{Name: name, Program: filepath.Base(file), Params: lang.Params{}}
		if slices.Contains(names, strings.TrimSuffix(file, ".mscl")) {
			spec.Program = strings.TrimSuffix(file, ".mscl")
		} else if !slices.Contains(own, file) && !slices.Contains(files, file) {
			files = append(files, file)
		}
		for _, word := range words[1:] {
			param, value, _ := strings.Cut(word, "=")
			n, err := strconv.Atoi(value)
			if err != nil || param == "" {
				return nil, nil, cli.Usagef("--program %s: a parameter is NAME=VALUE with a whole number, and not %q", name, word)
			}
			spec.Params[param] = n
		}
		list = append(list, spec)
	}
	return list, files, nil
}
