package kafka

import "slices"

// abortedTxn is a transaction that the broker tells to have been aborted: the
// records of producer from first on, up to its abort marker.
type abortedTxn struct {
	producer int64
	first    int64
}

// abortFilter tells which batches of one record set belong to aborted
// transactions, by the Java client's rule: a producer is in an aborted
// transaction from the first offset of one that the broker listed up to the
// abort marker.
type abortFilter struct {
	pending []abortedTxn // by first, those not begun
	open    []int64      // producers in an aborted transaction
}

// reset prepares for a record set with its list of aborted transactions, which
// it takes over.
func (f *abortFilter) reset(list []abortedTxn) {
	slices.SortFunc(list, func(a, b abortedTxn) int { return int(min(1, max(-1, a.first-b.first))) })
	f.pending, f.open = list, f.open[:0]
}

// skip tells whether h has no rows: a marker, or records of an aborted
// transaction. It must be called for every batch in order.
func (f *abortFilter) skip(h *batchHeader) bool {
	for len(f.pending) > 0 && f.pending[0].first <= h.last {
		f.open = append(f.open, f.pending[0].producer)
		f.pending = f.pending[1:]
	}
	if h.control() {
		if abortMarker(h) {
			if i := slices.Index(f.open, h.producer); i >= 0 {
				f.open = slices.Delete(f.open, i, i+1)
			}
		}
		return true
	}
	return h.transactional() && slices.Contains(f.open, h.producer)
}
