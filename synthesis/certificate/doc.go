// Package certificate shows how fast a synthesised program is: a JSON file with the trees or routes, and with cuts or
// lengths of links. These give a bound (see topology/bound), so that one sees how close the program comes to it.
// [Check] verifies a certificate from the topology alone. It uses no flows, and no code of the packages that make
// certificates.
package certificate
