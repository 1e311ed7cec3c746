package gpu

// A Vendor is a kind of GPU, numbered as in driver.h.
type Vendor int

// The vendors, by the names of their drivers.
const (
	CUDA Vendor = iota
	HIP
)

func (v Vendor) String() string { return [...]string{"cuda", "hip"}[v] }

// maker is who makes them.
func (v Vendor) maker() string { return [...]string{"NVIDIA", "AMD"}[v] }
