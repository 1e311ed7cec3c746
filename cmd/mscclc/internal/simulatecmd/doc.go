// Package simulatecmd is mscclc simulate: it predicts how long a program takes on a topology, and draws its steps.
package simulatecmd
