package choosing

import (
	"fmt"
	"path"
	"strconv"

	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/lang/syntax"
)

// PlaceName names a placement as messages do.
func PlaceName(inplace bool) string {
	if inplace {
		return "in place"
	}
	return "out of place"
}

// DifferNote says that not all ranks end with the same bits, if so.
func DifferNote(program string, differs bool, dtype data.DType) string {
	if !dtype.Info().Float || !differs {
		return ""
	}
	return fmt.Sprintf("sums of %s differ in the last bits between ranks", path.Base(program))
}

// Params returns what -p sets of a collective, with the values that it has otherwise.
func Params(kind ir.Kind) []syntax.ParamInfo {
	params := []syntax.ParamInfo{{Name: "ranks", Default: strconv.Itoa(DefaultRanks)}}
	if kind.Rooted() {
		params = append(params, syntax.ParamInfo{Name: "root", Default: "0"})
	}
	return params
}

// DefaultRanks is the number of ranks of a collective where none is given.
const DefaultRanks = 4
