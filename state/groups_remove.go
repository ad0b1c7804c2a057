package state

// Remove takes group id out: when its key comes again it gets a new number. The old
// number is not given again, and must not be asked for its key any more.
func (g *Groups) Remove(id int32) {
	if g.kind == kindNone || g.removed(id) {
		return
	}
	if g.gone == nil {
		g.gone = map[int32]struct{}{}
	}
	g.gone[id] = struct{}{}
	if id == g.null {
		g.null = -1
		return
	}
	p := g.hashOf(id) & g.mask
	for uint32(g.slots[p]) != uint32(id)+1 {
		p = (p + 1) & g.mask
	}
	// The entries behind it that could not have their own place move up, so that no
	// gap cuts them off.
	for q := (p + 1) & g.mask; g.slots[q] != 0; q = (q + 1) & g.mask {
		home := g.hashOf(int32(uint32(g.slots[q])-1)) & g.mask
		if (q-home)&g.mask >= (q-p)&g.mask {
			g.slots[p] = g.slots[q]
			p = q
		}
	}
	g.slots[p] = 0
}

// removed tells whether group id was removed.
func (g *Groups) removed(id int32) bool {
	if len(g.gone) == 0 {
		return false
	}
	_, gone := g.gone[id]
	return gone
}

func (g *Groups) hashOf(id int32) uint64 {
	if g.kind == kindInt {
		return hashInt(g.ints[id])
	}
	return uint64(g.hashes[id])<<32 | uint64(g.lows[id])
}
