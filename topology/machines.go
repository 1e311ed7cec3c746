package topology

import (
	"bufio"
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"mscclc/files"
	"mscclc/ir/diag"
)

//go:embed machines/*.topo
var machines embed.FS

// Names lists the machines that mscclc knows, sorted.
func Names() []string {
	files, err := fs.Glob(machines, "machines/*.topo")
	if err != nil {
		panic(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(f), ".topo"))
	}
	return names
}

// Source returns the text of a machine that mscclc knows.
func Source(name string) (string, error) {
	text, err := machines.ReadFile("machines/" + name + ".topo")
	return string(text), err
}

// File returns the file that spec names, or "" where it names a machine. Names of machines come before those of files
// without an extension.
func File(spec string) string {
	name, _, _ := strings.Cut(spec, ":")
	if strings.ContainsAny(name, "./\\") {
		return name
	}
	if slices.Contains(Names(), strings.ToLower(name)) {
		return ""
	}
	if info, err := os.Stat(name); err == nil && !info.IsDir() {
		return name
	}
	return ""
}

// A DumpReader reads a topology that NCCL wrote, as nccl.Read of the package topology/nccl does.
type DumpReader func(name string, r io.Reader, params map[string]int, device string) (*Topology, error)

// Open makes the topology that spec says: the name of a machine, or of a .topo file, and after a colon the values of
// its parameters: ndv4:nodes=4. nccl.Open opens NCCL's dumps too.
func Open(spec string) (*Topology, error) { return OpenWith(spec, "", nil) }

// OpenWith is Open of a machine whose GPUs are a device, as Topology.Device or a driver names it; "" is what the
// machine or the file says. dumps reads files that NCCL wrote; nil refuses them.
func OpenWith(spec, device string, dumps DumpReader) (*Topology, error) {
	t, err := openAs(spec, DeviceOf(device), dumps)
	if err == nil && device != "" {
		t.Device = DeviceOf(device)
	}
	return t, err
}

func openAs(spec, device string, dumps DumpReader) (*Topology, error) {
	name, values, _ := strings.Cut(spec, ":")
	params, err := parseParams(values)
	if err != nil {
		return nil, diag.List{diag.New(diag.Parameter, diag.Span{}, "topology %s: %v", spec,
			err).WithHint("%s", paramsHint(name, values))}
	}
	if known := strings.ToLower(name); slices.Contains(Names(), known) {
		name = known
	}
	if slices.Contains(Names(), name) {
		f, err := machines.Open("machines/" + name + ".topo")
		if err != nil {
			panic(err)
		}
		defer f.Close()
		return Read(name+".topo", f, params)
	}
	if File(spec) == "" {
		return nil, diag.List{diag.New(diag.Undefined, diag.Span{},
			"%q is neither a machine that mscclc knows nor a file", name).
			WithHint("%smachines are %s; a file is .topo, or what NCCL wrote", meant(name),
				strings.Join(Names(), ", "))}
	}
	f, err := files.Open(name)
	if list := (diag.List)(nil); errors.As(err, &list) {
		return nil, list
	} else if err != nil {
		return nil, diag.List{diag.New(diag.Io, diag.Span{Pos: diag.Pos{Filename: name}}, "%v", err)}
	}
	defer f.Close()
	head := bufio.NewReader(f)
	if isNCCL(name, head) {
		if dumps == nil {
			return nil, diag.List{diag.New(diag.Unsupported, diag.FileSpan(name),
				"the file is none of .topo, and files that NCCL wrote are not read here")}
		}
		return dumps(name, head, params, device)
	}
	return Read(name, head, params)
}

// isNCCL reports whether a file is one of NCCL's: by its name, or if that does not say, by how it begins.
func isNCCL(name string, r *bufio.Reader) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".topo":
		return false
	case ".xml":
		return true
	}
	begin, _ := r.Peek(512) // an error shows again when the file is read
	return bytes.HasPrefix(bytes.TrimLeft(begin, "\ufeff \t\r\n"), []byte("<"))
}

// meant begins a hint with the machines that name is probably a slip of, and what they are, or is "".
func meant(name string) string {
	lower := strings.ToLower(name)
	near := diag.Nearest(lower, Names())
	var machines []string
	for _, n := range Names() {
		if n == near || strings.Contains(lower, n) || len(lower) > 2 && strings.Contains(n, lower) {
			t, err := Open(n)
			if err != nil {
				panic(err)
			}
			_, what, _ := strings.Cut(t.Doc, ": ")
			machines = append(machines, n+" ("+what+")")
		}
	}
	if len(machines) == 0 {
		return ""
	}
	return "did you mean " + strings.Join(machines, ", or ") + "? "
}

// paramsHint says how the parameters of a machine are written, of which values are some that cannot be read.
func paramsHint(name, values string) string {
	if with := strings.ReplaceAll(values, ":", ","); with != values {
		if _, err := parseParams(with); err == nil {
			return "commas separate parameters: " + name + ":" + with
		}
	}
	return "parameters stand after a colon: ndv4:nodes=4"
}

// parseParams reads name=number, name=number.
func parseParams(s string) (map[string]int, error) {
	params := map[string]int{}
	for part := range strings.SplitSeq(s, ",") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		n, err := strconv.Atoi(value)
		if err != nil || name == "" {
			return nil, fmt.Errorf("%q is not name=number", part)
		}
		if _, twice := params[name]; twice {
			return nil, fmt.Errorf("%s is given twice", name)
		}
		params[name] = n
	}
	return params, nil
}
