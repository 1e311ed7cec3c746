// Package measurecmd is mscclc topo --measure: it measures the network between the hosts of a job, and writes a
// topology file and the costs of the network for simulations.
package measurecmd
