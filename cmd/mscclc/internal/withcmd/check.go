package withcmd

import (
	"fmt"
	"os"
	"strconv"

	"mscclc/bundle"
	"mscclc/bundle/limits"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/files"
	"mscclc/ir/diag"
	"mscclc/kernels"
)

// readBundle reads a bundle that the library takes.
func readBundle(name string) (*bundle.Bundle, error) {
	in, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	text, err := files.ReadAll(name, in, "a bundle", limits.File)
	if err != nil {
		return nil, err
	}
	b, err := bundle.Decode(name, text)
	if err != nil {
		return nil, err
	}
	if why := refused(in, b); why != "" {
		return nil, unavailable("the library does not take %s: %s", name, why)
	}
	return b, nil
}

// refused says why the library would refuse a bundle that is whole (bundle_open in runtime/src).
func refused(in *os.File, b *bundle.Bundle) string {
	if why := files.Untrusted(in); why != "" {
		return why
	}
	if b.ABI != kernels.Hash() {
		return "it is for the kernels of another version of mscclc; make it anew with mscclc bundle"
	}
	return ""
}

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
