// Package certificate is the proof of how good trees are: a JSON file with trees, and with cuts that show that nothing
// is faster. [Check] verifies one from the topology alone. It uses no flows and nothing of what made the certificate.
package certificate
