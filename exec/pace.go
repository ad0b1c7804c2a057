package exec

import "github.com/streamsql/streamsql/connector"

// Pace tells the source tasks how far to read and what barrier to end the epoch
// with.
type Pace struct {
	Barrier Barrier
	// Until has for each source and split the offset to read to. Nil: no bound, the
	// barrier is sent where the tasks are. A split that is missing is read until it
	// ends, is idle, or MaxRows rows have come.
	Until map[string]map[string]connector.Offset
	// Splits are new splits by source, to be opened at the start.
	Splits map[string][]connector.Split
	// Drained: a split that has reached its bound no longer holds the watermark
	// back.
	Drained bool
	// Limited are the sources whose bounds lie before what there is: their splits are
	// not drained where they reach them.
	Limited map[string]bool
	// MaxRows is how many rows a split gives at most; 0: no limit.
	MaxRows int
}
