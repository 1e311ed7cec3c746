package withcmd

import (
	"os"
	"strconv"

	"mscclc/bundle"
	"mscclc/files"
	"mscclc/kernels"
)

// readBundle reads a bundle that the library takes.
func readBundle(name string) (*bundle.Bundle, error) {
	in, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	text, err := files.ReadAll(name, in, "a bundle", bundle.MaxFile)
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
	if info, err := in.Stat(); err == nil && info.Mode().Perm()&bundle.WritableByOthers != 0 {
		return "other users may write to it (chmod go-w)"
	}
	if b.ABI != kernels.Hash() {
		return "it is for the kernels of another version of mscclc; make it anew with mscclc bundle"
	}
	return ""
}

// ctas returns the most CTAs of a launch, as the library reads it from the environment (ctas_of in runtime/src).
func ctas() int {
	number := func(name string) int {
		n, err := strconv.Atoi(os.Getenv(name))
		if err != nil || n < 1 || n > bundle.MostCTAs {
			return 0
		}
		return n
	}
	most := bundle.DefaultCTAs
	if n := number("MSCCLC_CTAS"); n > 0 {
		most = n
	}
	if n := number("NCCL_MAX_CTAS"); n > 0 {
		most = min(most, n)
	}
	return most
}
