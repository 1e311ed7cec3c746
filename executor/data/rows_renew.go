package data

// Renew has d hold the data of another seed from now on, as Reset does. What lies beside the buffers stays as it is,
// and so do the numbers of the stages.
func (d *Rows) Renew(seed uint64) {
	if seed != d.seed {
		d.seed = seed
		d.generate()
		for rank := range d.memory {
			m := &d.memory[rank]
			for i := range m.first {
				m.reads[i], m.wants[i] = d.read(rank, i)
			}
		}
	}
	var beside [][2][guard]byte
	for _, r := range d.rank {
		for _, all := range r.guarded {
			beside = append(beside, [2][guard]byte{[guard]byte(all), [guard]byte(all[len(all)-guard:])})
		}
	}
	d.Reset()
	for _, r := range d.rank {
		for _, all := range r.guarded {
			copy(all, beside[0][0][:])
			copy(all[len(all)-guard:], beside[0][1][:])
			beside = beside[1:]
		}
	}
}
