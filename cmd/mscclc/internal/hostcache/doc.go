// Package hostcache keeps what `search` and `topo --measure` find on a set of hosts in the user's cache. A later
// job on the same hosts chooses programs by it. Process 0 reads the cache and sends it to all processes, so that all
// choose alike.
package hostcache
