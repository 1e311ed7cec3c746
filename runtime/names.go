package runtime

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// known are the functions of NCCL that NCCLLibrary has, in src/front/names.h.
var known = sync.OnceValue(func() map[string]bool {
	text, err := Sources.ReadFile("src/front/names.h")
	if err != nil {
		panic(err) // the file is part of the program
	}
	all := map[string]bool{}
	for _, m := range regexp.MustCompile(`X\((nccl\w+), \d+\)`).FindAllSubmatch(text, -1) {
		all[string(m[1])], all["p"+string(m[1])] = true, true
	}
	return all
})

// isName matches the names that functions of NCCL have.
var isName = regexp.MustCompile(`^p?nccl\w+$`)

// Unknown returns those of the functions that an NCCL exports which NCCLLibrary does not know, sorted.
func Unknown(exports []string) (names []string) {
	for _, name := range exports {
		if isName.MatchString(name) && !known()[name] {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, strings.Compare)
	return slices.Compact(names)
}
