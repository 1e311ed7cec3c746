// Package certificate reads, writes and checks certificates. A certificate is a JSON file with the trees or routes of a
// synthesised program, and with the cuts or link lengths that prove a bound (see topology/bound). So one sees how close
// the program comes to the bound. [Check] verifies a certificate from the topology alone. It uses no flows, and no code
// of the packages that make certificates.
package certificate
