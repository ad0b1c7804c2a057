package operator

// measure tells the size of the state, once what has no rows is forgotten.
func (o *HashAgg) measure() error {
	n, size := 0, 0
	for _, bk := range o.buckets {
		if bk.sparse() {
			if err := o.compact(bk); err != nil {
				return err
			}
			bk = o.buckets[bk.end]
		}
		n += bk.groups.Len() - bk.dead
		size += bk.bytes()
	}
	size, err := o.spill(size)
	o.rt.Stats.State(n, size+o.trim(size))
	o.rt.Stats.Due(o.nextClose())
	return err
}

// trim gives up emptied buckets that take more memory than the live ones, and
// returns what the others take.
func (o *HashAgg) trim(live int) int {
	const little = 1 << 20
	size := 0
	for i, bk := range o.free {
		b := bk.bytes()
		if size+b > max(live, little) {
			clear(o.free[i:])
			o.free = o.free[:i]
			break
		}
		size += b
	}
	return size
}

// bytes is about the memory of the live buckets.
func (o *HashAgg) bytes() int {
	size := 0
	for _, bk := range o.buckets {
		size += bk.bytes()
	}
	return size
}
