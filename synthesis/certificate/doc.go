// Package certificate is the proof of how fast a tree program is: a JSON file with the trees, and with cuts. The cuts
// give a speed that no program exceeds, so that one sees how close the trees come to it. [Check] verifies a certificate
// from the topology alone. It uses no flows, and no code of the packages that make certificates.
package certificate
