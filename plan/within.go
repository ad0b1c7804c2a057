package plan

// Within says how long a continuous query remembers the keys that it has seen.
type Within uint8

// The spans of deduplication.
const (
	// WithinForever: a key is never forgotten, unless the watermark bounds it.
	WithinForever Within = iota
	// WithinWatermark: until the watermark has passed the first row's time plus the
	// watermark's delay.
	WithinWatermark
	// WithinSpan: until the watermark has passed the first row's time plus a span.
	WithinSpan
)
