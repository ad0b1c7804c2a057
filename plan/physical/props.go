package physical

// Props is what the planner knows of a node's output and state.
type Props struct {
	// Key holds the output columns that identify a row of the changelog. Nil: there
	// is no key, rows are a multiset. Empty and not nil: there is at most one row.
	Key []int
	// Twins are pairs of output columns that determine each other: the start and end
	// of a window.
	Twins [][2]int
	// EventTime is the output column that the watermark speaks of, or -1.
	EventTime int
	// Times are all output columns that a watermark bounds, EventTime included.
	Times []TimeColumn
	// AppendOnly: the output has inserts only.
	AppendOnly bool
	// Bounded: the output ends (a table's or a finite source's rows).
	Bounded bool
	// State says what the node keeps between batches, "" for nothing.
	State string
	// Bound says what limits that state: "watermark of ts", "key domain", "rows of
	// users", "one row", "nothing"; "" where there is no state.
	Bound string
}

// TimeColumn is a column that a watermark bounds: once the watermark is at
// v + Lag, no row with the value v is added any more (window_end has lag 0,
// window_start the window's size). Lag is in microseconds.
type TimeColumn struct {
	Col int
	Lag int64
}

// Time returns the column's entry in Times.
func (p *Props) Time(col int) (TimeColumn, bool) {
	for _, t := range p.Times {
		if t.Col == col {
			return t, true
		}
	}
	return TimeColumn{}, false
}
