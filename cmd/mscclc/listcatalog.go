package main

import (
	_ "embed"
	"encoding/json"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"mscclc/cmd/mscclc/internal/cli"
)

// catalogJSON holds the listings of the catalog by name, null for libraries. With them list expands no algorithm.
// TestCatalogJSON compares the file with the catalog, and writes it with MSCCLC_UPDATE=1.
//
//go:embed catalog.json
var catalogJSON []byte

// readCatalog returns catalogJSON's listings.
var readCatalog = sync.OnceValues(func() (listings map[string]*listing, err error) {
	return listings, json.Unmarshal(catalogJSON, &listings)
})

// inCatalog returns what describe returns. It takes it from catalogJSON where s is there and from is the usual one.
func inCatalog(s *cli.Source, from *cli.Reading) (l listing, ok bool, err error) {
	if !s.Catalog || !from.Usual() {
		return describe(s, from)
	}
	listings, err := readCatalog()
	if err != nil {
		return l, false, err
	}
	known, ok := listings[path.Clean(strings.TrimSuffix(s.Name, ".mscl"))]
	switch {
	case !ok:
		return describe(s, from)
	case known == nil:
		return l, false, nil
	}
	l = *known
	l.File = filepath.ToSlash(s.Name)
	return l, true, nil
}
