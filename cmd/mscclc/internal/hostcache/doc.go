// Package hostcache keeps results in the user's cache: those of `search` and of `topo --measure` on a set of hosts. A
// later job on these hosts uses the results to choose programs. Process 0 reads the cache and sends it to all
// processes, so that all choose alike.
package hostcache
