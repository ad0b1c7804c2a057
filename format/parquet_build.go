package format

import (
	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// build fills the columns with the n rows that were taken.
func (p *ParquetReader) build(n int) error {
	for i, d := range p.bound {
		c := &p.cols[i]
		switch {
		case d == nil:
			if c.NotNull && c.Meta == "" && !p.required(c) {
				p.nulls(c.Name, nil, n)
			}
			continue
		case p.nodes[i].kind == kindSkip:
			p.nulls(c.Name, d, n)
			continue
		}
		if err := p.fill(d); err != nil {
			return err
		}
		if d.n.v.N != n {
			return d.col.bad(damaged("it has %d rows for %d", d.n.v.N, n))
		}
		if c.NotNull && d.n.v.Valid != nil {
			for row := range n {
				if d.n.v.IsNull(row) {
					p.bad = append(p.bad, BadValue{row, nullInColumn(c.Name)})
				}
			}
		}
	}
	return nil
}

// required tells whether the file has a column that is unused and cannot be NULL.
func (p *ParquetReader) required(c *Column) bool {
	if !c.Unused {
		return false
	}
	root := p.meta.Schema.Root()
	names := make([]*colType, root.NumFields())
	for i := range names {
		names[i] = &colType{name: root.Field(i).Name()}
	}
	return colNamed(names, c.Name) >= 0 // those that can be NULL are bound
}

// nulls finds the NULLs of a column that nobody reads; without a binding all are.
func (p *ParquetReader) nulls(name string, d *binding, n int) {
	if d == nil {
		for row := range n {
			p.bad = append(p.bad, BadValue{row, nullInColumn(name)})
		}
		return
	}
	row := -1
	for e := range d.col.cut {
		if d.col.t.rep > 0 && d.col.reps[e] > 0 {
			continue
		}
		if row++; d.t.def > 0 && int16(d.col.defs[e]) < d.t.def {
			p.bad = append(p.bad, BadValue{row, nullInColumn(name)})
		}
	}
}

// fill fills the node of a binding with all its values in the batch.
func (p *ParquetReader) fill(d *binding) error {
	switch {
	case d.doc != nil:
		return p.fillDoc(d)
	case d.t.op == colScalar:
		return p.fillScalar(d)
	case d.t.op == colStruct:
		return p.fillStruct(d)
	}
	return p.fillList(d)
}

// fillStruct fills a struct: where it is NULL, and its fields.
func (p *ParquetReader) fillStruct(d *binding) error {
	n, valid := d.places()
	v := d.n.v
	v.N, v.Valid = n, valid
	for i, k := range d.kids {
		if k == nil {
			continue // the node's end fills it up
		}
		if err := p.fill(k); err != nil {
			return err
		}
		if got := d.n.kids[i].v.N; got != n {
			return k.col.bad(damaged("it has %d values in %d groups", got, n))
		}
	}
	return nil
}

// places counts the places there are for values of the binding and tells at which of
// them one is; nil: everywhere.
func (d *binding) places() (n int, valid arrowbatch.Bitmap) {
	c, t := d.col, d.t
	if t.rep == 0 && t.slot == 0 && c.t.rep == 0 {
		n = c.cut
		if t.def == 0 {
			return n, nil
		}
		for e, def := range c.defs[:n] {
			if int16(def) < t.def {
				return n, presence(c.defs[:n], uint8(t.def), e)
			}
		}
		return n, nil
	}
	for e := range c.cut {
		if c.t.rep > 0 && int16(c.reps[e]) > t.rep {
			continue
		}
		def := int16(0)
		if c.t.def > 0 {
			def = int16(c.defs[e])
		}
		if def < t.slot {
			continue
		}
		switch {
		case def >= t.def:
			if valid != nil {
				if n&63 == 0 {
					valid = append(valid, 0)
				}
				valid.Set(n)
			}
		case valid == nil:
			valid = make(arrowbatch.Bitmap, n>>6+1, arrowbatch.BitmapWords(c.cut)+1)
			valid.Fill(n, true)
			valid[n>>6] &= 1<<(uint(n)&63) - 1
		case n&63 == 0:
			valid = append(valid, 0)
		}
		n++
	}
	return n, valid
}

// presence is a bit for each level: whether it is top or more. All before from are.
func presence(levels []uint8, top uint8, from int) arrowbatch.Bitmap {
	b := arrowbatch.NewBitmap(len(levels))
	for i := range b {
		word, part := uint64(0), levels[i<<6:min(len(levels), i<<6+64)]
		if i<<6+64 <= from {
			b[i] = ^uint64(0)
			continue
		}
		for k, l := range part {
			if l >= top {
				word |= 1 << uint(k)
			}
		}
		b[i] = word
	}
	return b
}

// fillList fills a list: where it is NULL, where its elements end, and the elements.
func (p *ParquetReader) fillList(d *binding) error {
	c, t, v := d.col, d.t, d.n.v
	n, valid := d.places()
	off := append(v.Off[:0], make([]int32, n+1)...)
	lists, elems := 0, int32(0)
	for e := range c.cut {
		if int16(c.reps[e]) > t.rep+1 {
			continue
		}
		def := int16(c.defs[e])
		if int16(c.reps[e]) <= t.rep && def >= t.slot {
			off[lists] = elems
			lists++
		}
		if def > t.def {
			if lists == 0 {
				return c.bad(damaged("an element stands outside of a list"))
			}
			elems++
		}
	}
	off[lists] = elems
	v.Off, v.N, v.Valid = off, n, valid
	k := d.kids[0]
	if err := p.fill(k); err != nil {
		return err
	}
	if k.n.v.N != int(elems) {
		return c.bad(damaged("it has %d values for %d elements", k.n.v.N, elems))
	}
	return nil
}

// fillDoc fills a json or jsonb column with what is a group, a list or a map.
func (p *ParquetReader) fillDoc(d *binding) error {
	doc := d.doc.n
	doc.bind(arrowbatch.NewVec(doc.t.Shape(), 0))
	defer doc.v.Release()
	if err := p.fill(d.doc); err != nil {
		return err
	}
	rows := doc.v.N
	doc.finish(rows)
	var text []byte
	for i := range rows {
		if doc.v.IsNull(i) {
			d.n.v.AppendNull()
			continue
		}
		text = appendDoc(text[:0], d.t, doc.v, i)
		if err := p.in.text.put(d.n, d.n.v.N, text); err != nil {
			p.badPlace(d, i, err)
			d.n.v.AppendNull()
		}
	}
	return nil
}

// badPlace notes that the value of a place cannot be had; the place is counted as in
// places.
func (p *ParquetReader) badPlace(d *binding, place int, err *sqlerr.Error) {
	c, t := d.col, d.t
	row, n := -1, 0
	for e := range c.cut {
		if c.t.rep == 0 || c.reps[e] == 0 {
			row++
		}
		if c.t.rep > 0 && int16(c.reps[e]) > t.rep || c.t.def > 0 && int16(c.defs[e]) < t.slot {
			continue
		}
		if n == place {
			break
		}
		n++
	}
	p.bad = append(p.bad, BadValue{row, &RecordError{Column: t.path, Err: err}})
}
