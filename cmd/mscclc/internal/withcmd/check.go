package withcmd

import (
	"fmt"
	"os"
	"strconv"

	"mscclc/bundle"
	"mscclc/bundle/limits"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/ir/diag"
)

// ctas returns the most CTAs of a launch, as the library reads it from the environment (ctas_of in runtime/src). A note
// names each variable that is no such number.
func ctas(a *cli.App) int {
	number := func(name string, otherwise int, instead string) int {
		text := os.Getenv(name)
		n, err := strconv.Atoi(text)
		if err == nil && 1 <= n && n <= limits.CTAs {
			return n
		}
		if text != "" {
			a.Note("", "%s=%s is not a number from 1 to %d: %s", name, diag.Printable(text), limits.CTAs, instead)
		}
		return otherwise
	}
	most := number("MSCCLC_CTAS", bundle.DefaultCTAs, fmt.Sprintf("launches have at most %d CTAs", bundle.DefaultCTAs))
	return min(most, number("NCCL_MAX_CTAS", most, "it does not lower MSCCLC_CTAS"))
}
