package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/devices"
	"mscclc/executor"
	"mscclc/ir/diag"
	"mscclc/topology"
)

// This file reports what this machine is.

// A machineReport is what this machine is.
type machineReport struct {
	Schema     int               `json:"schema"`
	Processors int               `json:"processors"`
	Devices    []deviceReport    `json:"devices"`
	Cards      []cardReport      `json:"network_cards"`
	Like       string            `json:"like,omitempty" doc:"the topology that is most like it"`
	Missing    map[string]string `json:"missing" doc:"why a device has no GPUs, by its name"`
}

type deviceReport struct {
	Device  string   `json:"device"`
	Driver  string   `json:"driver"`
	GPUs    []string `json:"gpus"`
	Reached string   `json:"reached" doc:"all, or which GPU does not reach another's memory"`
}

type cardReport struct {
	Name string `json:"name"`
	Rate string `json:"rate"`
}

func topoHere(a *cli.App) error {
	r := machineReport{Schema: cli.Schema, Processors: runtime.NumCPU(), Devices: []deviceReport{},
		Cards: networkCards("/sys/class/infiniband"), Missing: map[string]string{}}
	for _, name := range slices.Sorted(maps.Keys(devices.GPUs)) {
		d, err := lookAt(name, devices.GPUs[name]())
		if err != nil {
			r.Missing[name] = diag.Printable(err.Error())
			continue
		}
		r.Devices = append(r.Devices, d)
		if t := likest(d.GPUs); t != "" {
			r.Like = t
		}
	}
	if a.JSON {
		return a.WriteJSON(r)
	}
	fmt.Fprintf(a.Stdout, "%s\n", diag.Counted(r.Processors, "processor"))
	for _, d := range r.Devices {
		fmt.Fprintf(a.Stdout, "%s: %s, %s; memory that GPUs reach: %s\n", d.Device, strings.Join(counted(d.GPUs), ", "),
			d.Driver, d.Reached)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Missing)) {
		fmt.Fprintf(a.Stdout, "%s: none: %s\n", name, r.Missing[name])
	}
	for _, c := range r.Cards {
		fmt.Fprintf(a.Stdout, "network card %s: %s\n", c.Name, c.Rate)
	}
	if r.Like != "" {
		fmt.Fprintf(a.Stdout, "most like the topology %s\n", r.Like)
	}
	return nil
}

// lookAt asks a device's driver for its GPUs.
func lookAt(name string, gpus executor.GPUs) (d deviceReport, err error) {
	list, err := gpus.GPUs()
	if err == nil && len(list) == 0 {
		err = errors.New("the driver shows no GPU")
	}
	if err != nil {
		return d, err
	}
	if d.Driver, err = gpus.Driver(); err != nil {
		return d, err
	}
	d.Device, d.Reached = name, "all"
	for _, g := range list {
		d.GPUs = append(d.GPUs, diag.Printable(g.Name()))
		for _, to := range list {
			if err := g.Reaches(to); err != nil && d.Reached == "all" {
				d.Reached = "not all: " + diag.Printable(err.Error())
			}
		}
	}
	return d, nil
}

// counted says of names how often each is there: 8 x NVIDIA H200.
func counted(names []string) (list []string) {
	for i, n := range names {
		if slices.Index(names, n) == i {
			k := 0
			for _, o := range names {
				if o == n {
					k++
				}
			}
			list = append(list, fmt.Sprintf("%d x %s", k, n))
		}
	}
	return list
}

// likest returns the topology whose device the GPUs are, "" where none is.
func likest(gpus []string) string {
	for _, name := range topology.Names() {
		t, err := topology.Open(name)
		if err != nil {
			panic(err) // a test opens them all
		}
		if t.Device == "" || topology.DeviceOf(gpus[0]) != t.Device {
			continue
		}
		if t.GPUs == len(gpus) {
			return name
		}
		spec := fmt.Sprintf("%s:gpus=%d", name, len(gpus))
		if _, err := topology.Open(spec); err == nil {
			return spec
		}
	}
	return ""
}

// networkCards returns the cards of a machine that RDMA goes by, as Linux lists them.
func networkCards(dir string) []cardReport {
	list := []cardReport{}
	rates, _ := filepath.Glob(filepath.Join(dir, "*", "ports", "*", "rate"))
	for _, f := range rates {
		rate, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		port := filepath.Dir(f)
		name := filepath.Base(filepath.Dir(filepath.Dir(port))) + ":" + filepath.Base(port)
		list = append(list, cardReport{diag.Printable(name), diag.Printable(strings.TrimSpace(string(rate)))})
	}
	return list
}
