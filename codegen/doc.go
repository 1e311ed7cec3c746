// Package codegen turns a placed, ordered and synchronised instruction DAG
// into a Program, and a Program into the formats that runtimes read: MSCCL-IR
// XML in its two dialects, and mscclc's own plan. It reads them back, trusting
// nothing that a file says.
package codegen
