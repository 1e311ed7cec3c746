// Package simulatecmd is mscclc simulate: it says how long a program takes on a topology, and draws the steps.
package simulatecmd
