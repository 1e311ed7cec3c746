// Package certificate is the proof of how fast a tree program is: a JSON file with the trees, and with cuts that show
// that no program is faster. [Check] verifies a certificate from the topology alone. It uses no flows, and no code of
// the packages that make certificates.
package certificate
