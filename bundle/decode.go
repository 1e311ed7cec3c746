package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"mscclc/bundle/limits"
	"mscclc/ir/diag"
)

// Is reports whether a file that begins with head is a bundle.
func Is(head []byte) bool { return bytes.HasPrefix(head, []byte(Magic)) }

// Decode reads a bundle, which messages call name. It checks every number, and takes only what Encode writes, so that
// equal bundles have equal bytes. It does not prove programs: Verify does. An error is a diag.List. The bundle shares
// memory with b.
func Decode(name string, b []byte) (*Bundle, error) {
	if !Is(b) {
		return nil, diag.List{noBundle(name, b)}
	}
	out, err := decode(b)
	if err == nil && !bytes.Equal(Encode(out), b) {
		err = fmt.Errorf("a field that is not used is not 0, or sections are not in order")
	}
	if err != nil {
		return nil, diag.List{diag.New(diag.Malformed, diag.FileSpan(name), "the bundle is damaged: %v", err)}
	}
	return out, nil
}

// noBundle says that a file is no bundle. A file of rules is made one.
func noBundle(name string, b []byte) diag.Diagnostic {
	if text := bytes.TrimSpace(b); bytes.HasPrefix(text, []byte("{")) && bytes.Contains(text, []byte(`"rules"`)) {
		device := "NAME"
		if m, err := ReadRules(name, bytes.NewReader(b)); err == nil {
			device = m.Device
		}
		return diag.New(diag.Unsupported, diag.FileSpan(name), "%s is a file of rules, and not a bundle", diag.Printable(name)).
			WithHint("mscclc bundle --device %q --rules %s -o FILE.bundle makes a bundle of it", device, diag.Printable(name))
	}
	return diag.New(diag.Malformed, diag.FileSpan(name), "%s is not a bundle", diag.Printable(name)).
		WithHint("mscclc bundle writes bundles")
}

// decode is Decode without the name.
func decode(b []byte) (*Bundle, error) {
	h, parts, err := sections(b)
	if err != nil {
		return nil, err
	}
	out := &Bundle{ABI: h.ABI}
	var sources, wheres [][]byte
	for i, p := range parts {
		if i > 0 && p.kind < parts[i-1].kind {
			return nil, fmt.Errorf("section %d comes too late", i)
		}
		number := 0 // that the section must have
		switch p.kind {
		case sectionAbout:
			out.About = p.bytes
			err = one(i)
		case sectionSet:
			number = int(p.number) // which decodeSet checks
			err = out.decodeSet(p)
		case sectionProgram:
			number = len(out.Programs)
			err = out.decodeProgram(p)
		case sectionSource:
			number = len(sources)
			sources = append(sources, p.bytes)
		case sectionImage:
			number = len(out.Images)
			err = out.decodeImage(p)
		case sectionWhere:
			number = len(wheres)
			wheres = append(wheres, p.bytes)
		case sectionNet:
			number = int(p.number)
			err = out.decodeNet(p)
		case sectionNamed:
			number = int(p.number)
			err = out.decodeNamed(p)
		default:
			err = fmt.Errorf("no sections are of kind %d", p.kind)
		}
		if err == nil && int(p.number) != number {
			err = fmt.Errorf("its number is %d, and not %d", p.number, number)
		}
		if err != nil {
			return nil, fmt.Errorf("section %d: %w", i, err)
		}
	}
	if out.About == nil || len(sources) != len(out.Programs) || len(wheres) != len(out.Programs) {
		return nil, fmt.Errorf("%d programs have %d program files and %d lists of source positions, or the bundle does not "+
			"say what it is", len(out.Programs), len(sources), len(wheres))
	}
	for i, p := range out.Programs {
		p.Source, p.Where = sources[i], wheres[i]
	}
	return out, out.check()
}

// one refuses a section that is not the first.
func one(i int) error {
	if i > 0 {
		return fmt.Errorf("there are two of its kind")
	}
	return nil
}

// sections checks the header, the table and the hashes of all sections.
func sections(b []byte) (h header, parts []part, err error) {
	size, row := binary.Size(h), binary.Size(section{})
	if len(b) < size {
		return h, nil, fmt.Errorf("it has %d bytes, and no header", len(b))
	}
	binary.Decode(b, binary.LittleEndian, &h) // of a header's bytes at least
	switch {
	case h.Version != Version:
		return h, nil, fmt.Errorf("it is of version %d, and this mscclc reads %d", h.Version, Version)
	case h.Bytes != uint64(len(b)) || len(b) > limits.File:
		return h, nil, fmt.Errorf("its header says %d bytes, and it has %d", h.Bytes, len(b))
	case h.Sections > limits.Sections || int(h.Sections)*row > len(b)-size:
		return h, nil, fmt.Errorf("%d sections do not fit", h.Sections)
	}
	table := b[size : size+int(h.Sections)*row]
	if sha256.Sum256(table) != h.Table {
		return h, nil, fmt.Errorf("the SHA-256 of the table of sections is another")
	}
	end := uint64(size + len(table))
	for i := range h.Sections {
		var s section
		binary.Decode(table[int(i)*row:], binary.LittleEndian, &s)
		if s.Offset%Align != 0 || s.Offset < end || s.Offset > uint64(len(b)) || s.Bytes > uint64(len(b))-s.Offset {
			return h, nil, fmt.Errorf("section %d has %d bytes at %d, outside the file or in another section", i, s.Bytes,
				s.Offset)
		}
		end = s.Offset + s.Bytes
		body := b[s.Offset:end:end]
		if sha256.Sum256(body) != s.SHA256 {
			return h, nil, fmt.Errorf("the SHA-256 of section %d is another", i)
		}
		parts = append(parts, part{s.Kind, s.Number, body})
	}
	return h, parts, nil
}
