package data

import (
	"encoding/binary"
	"math"
)

// runElems is how many elements are decoded at once: little enough to stay in the fastest cache, with all that
// is computed of them.
const runElems = 256

// floats decodes the first elements of buf, floats of type t.
func (t DType) floats(into []float64, buf []byte) {
	buf = buf[:len(into)*t.Size()]
	switch t {
	case F16:
		values := f16Values()
		for i := range into {
			into[i] = values[binary.LittleEndian.Uint16(buf[2*i:])]
		}
	case BF16:
		for i := range into {
			into[i] = float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(buf[2*i:])) << 16))
		}
	case F32:
		for i := range into {
			into[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(buf[4*i:])))
		}
	case F64:
		for i := range into {
			into[i] = math.Float64frombits(binary.LittleEndian.Uint64(buf[8*i:]))
		}
	default:
		for i := range into {
			into[i] = t.Float(buf, i)
		}
	}
}

// ints decodes the first elements of buf, integers of type t.
func (t DType) ints(into []uint64, buf []byte) {
	buf = buf[:len(into)*t.Size()]
	switch t {
	case I8:
		for i := range into {
			into[i] = uint64(int8(buf[i]))
		}
	case U8:
		for i := range into {
			into[i] = uint64(buf[i])
		}
	case I32:
		for i := range into {
			into[i] = uint64(int32(binary.LittleEndian.Uint32(buf[4*i:])))
		}
	case U32:
		for i := range into {
			into[i] = uint64(binary.LittleEndian.Uint32(buf[4*i:]))
		}
	default:
		for i := range into {
			into[i] = t.Int(buf, i)
		}
	}
}

// putInts encodes integers of type t, of which it keeps what an element holds.
func (t DType) putInts(buf []byte, from []uint64) {
	switch t.Size() {
	case 1:
		for i, v := range from {
			buf[i] = byte(v)
		}
	case 4:
		for i, v := range from {
			binary.LittleEndian.PutUint32(buf[4*i:], uint32(v))
		}
	default:
		for i, v := range from {
			binary.LittleEndian.PutUint64(buf[8*i:], v)
		}
	}
}

// putFloats encodes floats of type t.
func (t DType) putFloats(buf []byte, from []float64) {
	switch t {
	case F32:
		for i, v := range from {
			binary.LittleEndian.PutUint32(buf[4*i:], math.Float32bits(float32(v)))
		}
	default:
		for i, v := range from {
			t.PutFloat(buf, i, v)
		}
	}
}
