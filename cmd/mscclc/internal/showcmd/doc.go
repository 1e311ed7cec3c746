// Package showcmd is mscclc show: it prints or draws an algorithm at a stage of compilation, or after a pass.
package showcmd
