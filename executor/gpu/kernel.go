//go:build cgo && linux

package gpu

import (
	"fmt"
	"strings"
	"unsafe"

	"mscclc/executor"
	"mscclc/executor/abi"
	"mscclc/executor/data"
	"mscclc/ir"
)

// This file chooses the kernel of a launch, and how many threads its blocks have.

// A kernel is an entry on a GPU.
type kernel struct {
	gpu   *gpu
	entry unsafe.Pointer
}

// twoEntry returns the image and the entry for a launch of a two-sided program. Those that trace there are for some
// types and GPUs only.
func twoEntry(p *abi.Params, traced bool) (image, entry string) {
	image, entry = data.DType(p.DType).String(), ir.Protocol(p.Proto).Row().Entry
	if traced {
		return "trace_two_" + image, "mscclc_trace_" + entry
	}
	return image, "mscclc_" + entry
}

// oneImage returns the image for a launch of a one-sided program. Those that trace, which know
// of a port and of other nodes too, and the switch's, there are for some types and GPUs only.
func oneImage(r *executor.Ready) string {
	p, kind := r.One, "onesided_"
	switch {
	case r.Rows != nil:
		kind = rowImages
	case p.Trace != 0:
		kind = "trace_"
	case r.Net && r.Shared > 1:
		kind = togetherImages
	case r.Net:
		kind = netImages
	case p.All != abi.OneSwitch{}:
		kind = switchImages
	case p.Port != 0:
		kind = portImages
	}
	return kind + data.DType(p.DType).String()
}

// How the names of the images begin that go through NVLink's switch, of those with a port, of those for several nodes,
// which know of a port too, without and with replicas that share CTAs, and of those with an epilogue.
const switchImages, portImages, netImages, togetherImages, rowImages = "switch_", "port_", "net_", "together_", "rows_"

// oneKernel returns the kernel for a launch of a one-sided program.
func (g *gpu) oneKernel(r *executor.Ready) (kernel, error) {
	image := oneImage(r)
	port := strings.HasPrefix(image, portImages)
	k, err := g.machine.kernel(g, image, OneEntry(r, r.Copies, port))
	if err != nil && r.Copies { // the entries that fold copy too
		k, err = g.machine.kernel(g, image, OneEntry(r, false, port))
	}
	return k, err
}

// Load has the kernels for a type ready, and returns how many of their widest blocks are resident at once.
func (g *gpu) Load(t data.DType, kind executor.KernelKind) (int, error) {
	image, entry := twoEntry(&abi.Params{DType: uint32(t), Proto: uint32(ir.Simple)}, false)
	switch kind {
	case executor.OneSidedKernel:
		image, entry = "onesided_"+t.String(), "mscclc_onesided_sum"
	case executor.PortKernel:
		image, entry = portImages+t.String(), "mscclc_onesided"
	case executor.NetKernel:
		image, entry = netImages+t.String(), "mscclc_net"
	case executor.TogetherKernel:
		image, entry = togetherImages+t.String(), "mscclc_net"
	}
	k, err := g.machine.kernel(g, image, entry)
	if err != nil {
		return 0, err
	}
	return g.resident(k.entry, mostThreads)
}

// fit returns the threads of a block, the most with which all blocks are co-resident,
// since they wait for each other; and how many such blocks have room. Where replicas share a block, each has 32 threads
// at least, and a power of two.
// least is what a block needs.
func (k kernel) fit(blocks, perBlock, shared, least int) (threads, room int, err error) {
	if perBlock > mostThreads || perBlock%32 != 0 {
		return 0, 0, fmt.Errorf("blocks of %d threads: a GPU has them by 32, up to %d", perBlock, mostThreads)
	}
	if shared > 1 && perBlock > 0 && (perBlock < 32*shared || perBlock&(perBlock-1) != 0) {
		return 0, 0, fmt.Errorf("blocks of %d threads for %d replicas: these have a power of two each, from 32 on",
			perBlock, shared)
	}
	first, last := mostThreads, max(leastThreads, 32*shared, least)
	if perBlock > 0 {
		first, last = perBlock, perBlock
	}
	if least > first {
		return 0, 0, fmt.Errorf("rows that need blocks of %d threads, and these have %d: %w", least, first,
			executor.ErrNotSupported)
	}
	for threads = first; threads >= last; threads /= 2 {
		if room, err = k.gpu.resident(k.entry, threads); err != nil {
			return 0, 0, err
		}
		if blocks <= room {
			return threads, room, nil
		}
	}
	return 0, 0, fmt.Errorf("%v has room for %d blocks of %d threads at once, and the program has %d blocks there: %w",
		k.gpu, room, last, blocks, executor.ErrNoDevice)
}
