package plan

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"mscclc/executor"
	"mscclc/executor/abi"
	"mscclc/executor/data"
)

// SwitchMemory has multicast addresses, as this process has them: what is loaded
// there is the sum of what the inputs, or the outputs, of all ranks hold, and what is
// stored there goes to all. The caller has made them; 0 where there is none. They are
// of the places that CallArgs.Input and Output are of.
type SwitchMemory struct{ Input, Output uint64 }

// SwitchTypes are what a switch adds up.
var SwitchTypes = []data.DType{data.F16, data.BF16, data.F32}

// MulticastVariable is the variable of the environment without whose 1 a call's
// multicast addresses are not used, and the switch's kernel not loaded.
const MulticastVariable = "MSCCLC_MULTICAST"

// everywhere gives the multicast addresses that a call goes by, if any. Without them the
// operands of all ranks are reached rank by rank.
func (p *Plan) everywhere(args *CallArgs, geo data.Geometry) (abi.OneSwitch, error) {
	if args.Switch == nil || *args.Switch == (SwitchMemory{}) || os.Getenv(MulticastVariable) != "1" {
		return abi.OneSwitch{}, nil
	}
	if args.RedOp != data.Sum || !slices.Contains(SwitchTypes, args.DType) {
		return abi.OneSwitch{}, fmt.Errorf(
			"the switch adds up f16, bf16 and f32, and this is %v of %v: leave the multicast addresses out: %w",
			args.RedOp, args.DType, executor.ErrNotSupported)
	}
	if args.Trace != nil {
		return abi.OneSwitch{}, fmt.Errorf("what goes through the switch cannot be traced: %w", executor.ErrNotSupported)
	}
	all := abi.OneSwitch{Input: args.Switch.Input, Output: args.Switch.Output}
	if geo.Coll.Inplace {
		if all.Input == 0 {
			return abi.OneSwitch{}, errors.New(
				"in place all of a call's memory is its input, and the multicast address is of none")
		}
		_, _, inAt, outAt, _ := geo.Buffers(0)
		for r := range geo.Coll.Ranks {
			if _, _, in, out, _ := geo.Buffers(r); in != inAt || out != outAt {
				return abi.OneSwitch{}, fmt.Errorf(
					"the ranks' parts of their buffers lie at different places: the switch cannot reach them by one address: %w",
					executor.ErrNotSupported)
			}
		}
		size := uint64(args.DType.Size())
		all = abi.OneSwitch{Input: all.Input + uint64(inAt)*size, Output: all.Input + uint64(outAt)*size}
	}
	return all, nil
}
