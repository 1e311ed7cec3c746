package bundle

import (
	"fmt"

	"mscclc/ir/diag"
)

// Finish replaces the images of PTX by machine code for the GPU that the bundle is for. device is the name of the GPU
// at hand, target is 90 of sm_90, and link makes machine code of PTX, as the driver's linker does. It fails where the
// bundle is for another GPU.
func (b *Bundle) Finish(device string, target int, link func(ptx []byte) ([]byte, error)) error {
	for i := range b.Sets {
		if b.Sets[i].Device != device {
			return diag.List{diag.New(diag.Unavailable, diag.Span{}, "the GPU here is %q, and the bundle is for %q", device,
				b.Sets[i].Device).WithHint("finish it on a machine with that GPU, or give its name as --device")}
		}
	}
	for i := range b.Images {
		m := &b.Images[i]
		if m.Form != FormPTX {
			continue
		}
		code, err := link(m.Code)
		if err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
		m.Form, m.Target, m.Code = FormCubin, target, code
	}
	return nil
}
