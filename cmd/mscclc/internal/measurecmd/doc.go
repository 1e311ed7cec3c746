// Package measurecmd is `mscclc topo --measure`: it measures the network between the hosts of a job, and writes a
// topology and costs of it.
package measurecmd
