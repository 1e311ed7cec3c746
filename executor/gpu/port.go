//go:build cgo && linux

package gpu

// #include "driver.h"
import "C"

import (
	"errors"
	"time"

	"mscclc/executor"
)

// A port is the proxy of a plan's copies on a GPU.
type port struct {
	g       *gpu
	c       *C.struct_gpu_port
	started bool
	stuck   bool // it did not stop in time
}

// stopTime is what a port may take to stop.
const stopTime = 3 * time.Second

// NewPort makes a port.
func (g *gpu) NewPort(lanes, peers int, ends uint64) (executor.Port, error) {
	p := &port{g: g}
	err := g.failed(C.mscclc_gpu_port(g.c, C.u32(lanes), C.u32(peers), C.u64(ends), &p.c), "a port of %d lanes", lanes)
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *port) Lanes() uint64 { return uint64(C.mscclc_gpu_port_lanes(p.c)) }

func (p *port) Start() error {
	p.started = true
	return p.g.failed(C.mscclc_gpu_port_start(p.c), "starting the port")
}

func (p *port) Err() error {
	return p.g.failed(C.mscclc_gpu_port_failed(p.c), "a copy by the port")
}

func (p *port) Stop() error {
	if !p.started {
		return nil
	}
	limit := stopTime
	if p.stuck {
		limit = 0
	}
	err := p.g.failed(C.mscclc_gpu_port_stop(p.c, C.u64(limit)), "stopping the port")
	p.started, p.stuck = err != nil, err != nil
	return err
}

// Close leaves a port as it is that does not stop.
func (p *port) Close() error {
	if p.c == nil {
		return nil
	}
	if err := p.Stop(); err != nil {
		return err
	}
	err := p.g.failed(C.mscclc_gpu_port_end(p.c), "ending the port")
	p.c = nil
	return err
}
