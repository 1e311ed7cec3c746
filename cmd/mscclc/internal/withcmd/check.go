package withcmd

import (
	"fmt"
	"os"
	"strings"

	"mscclc/bundle"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/files"
	"mscclc/kernels"
)

// checkBundle reads the bundle, and notes which calls its programs will not run.
func (f *withFlags) checkBundle(a *cli.App, name string) error {
	b, err := readBundle(name)
	if err != nil {
		return err
	}
	var ranks []string
	for i := range b.Sets {
		s := &b.Sets[i]
		if len(s.Programs) == 0 {
			a.Note("", "NCCL runs all calls of %d ranks: the bundle has no programs for them", s.Ranks)
			continue
		}
		ranks = append(ranks, fmt.Sprint(s.Ranks))
	}
	if len(ranks) > 0 {
		rest := "NCCL runs all others, and Send and Recv"
		if f.nccl == none {
			rest = "all others, and Send and Recv, are errors"
		}
		a.Note("", "programs run collective calls of communicators with %s ranks; %s", strings.Join(ranks, ", "), rest)
	}
	return nil
}

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
