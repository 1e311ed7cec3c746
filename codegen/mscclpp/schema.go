package mscclpp

import _ "embed"

// Schema is the JSON schema (2020-12) of MSCCL++'s execution plans, as its executor can run them: every key that
// Read knows, the operands of each operation, and the limits that are of one list. A test makes it of the reader's own
// tables. What the reader refuses beyond it is what lies in several places: ids that lead nowhere, chunks beyond their buffers,
// channels without their other end.
//
//go:embed plan.schema.json
var Schema []byte
