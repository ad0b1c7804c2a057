package kafka

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// leaveOut notes a record that cannot be decoded, where the source goes on without
// such; ok is false where it does not.
func (r *reader) leaveOut(rec *record, offset, ms int64, reason error) (ok bool) {
	if !r.src.skipBad {
		return false
	}
	// It counts as what was decoded: of nothing but garbage a Read ends, too.
	r.bad++
	r.bytes += len(rec.value) + len(rec.key)
	if r.src.spec.BadRows == nil {
		return true
	}
	value := rec.value
	if value == nil && r.src.cfg.letters == nil {
		value = rec.key // a row's deletion is its key
	}
	if r.src.cfg.letters == nil && !r.src.spec.WholeBad {
		value = value[:min(len(value), connector.KeptBytes)]
	}
	b := connector.BadRow{Split: r.split, Offset: offsetText(offset), Code: string(sqlerr.CodeOf(reason)),
		Reason: connector.ReasonText(reason), Bytes: slices.Clone(value), Micros: clock.Micros(r.src.spec.Clock),
		Time: arrowbatch.NoTime}
	if r.src.cfg.letters != nil {
		b.Key = slices.Clone(rec.key)
		if ms >= 0 {
			b.Time = ms * 1000
		}
		hs, ok := appendHeaders(nil, rec)
		for _, h := range hs {
			if !ok {
				break // they are what is malformed
			}
			b.Headers = append(b.Headers, connector.Header{Name: slices.Clone(h.name), Value: slices.Clone(h.value)})
		}
	}
	r.src.spec.BadRows.Add(b)
	return true
}

// readLetters reads the options of a source's dead-letter topic: those of a sink that
// concern a topic and its delivery.
func (c *sourceConfig) readLetters(o *connector.Options) {
	if c.format.DeadLetter == "" {
		return
	}
	if c.format.DeadLetter == c.topic {
		o.Fault(`option "dead_letter" names the topic that is read`)
	}
	l := &sinkConfig{conn: c.conn, topic: c.format.DeadLetter, maxMessage: 1_000_000, bufferBytes: 32 << 20}
	l.readTopic(o)
	l.readDelivery(o)
	c.letters = l
}

// newDeadLetters makes the sink of a source's dead letters; nil where it has none.
func newDeadLetters(_ context.Context, spec *connector.Spec) (connector.Sink, error) {
	cfg, err := readSource(spec, true)
	if err != nil || cfg.letters == nil {
		return nil, err
	}
	k := makeSink(spec, cfg.letters)
	k.maker = func(context.Context) (recordMaker, error) { return &letterMaker{s: k, topic: cfg.topic}, nil }
	return k, nil
}

// letterMaker makes records of dead letters of a source: the record as it was read, with
// what is known of it in headers behind its own.
type letterMaker struct {
	s      *sink
	topic  string // that was read
	letter letter
	left   letter // of one that was too large
	own    []byte
}

func (m *letterMaker) begin(*arrowbatch.Batch) {}

func (m *letterMaker) close() {}

func (m *letterMaker) rows(b *arrowbatch.Batch, lo, hi int, put func(*outRecord) error) (next int, err error) {
	text := func(col, i int) string { return string(b.Cols[col].BytesAt(i)) }
	l := &m.letter
	for i := lo; i < hi; i++ {
		l.begin(bytesAt(b.Cols[connector.LetterKey], i), bytesAt(b.Cols[connector.LetterValue], i), m.headers(b, i))
		l.addText(headerSource, m.s.spec.Name)
		if q := m.s.spec.Query; q != "" {
			l.addText(headerQuery, q)
		}
		l.addText(headerTopic, m.topic)
		l.addText(headerPartition, text(connector.LetterSplit, i))
		l.addText(headerOffset, text(connector.LetterOffset, i))
		if v := b.Cols[connector.LetterTime]; !v.IsNull(i) {
			l.addTime(headerTimestamp, v.I64[i])
		}
		l.addText(headerCode, text(connector.LetterCode, i))
		l.addText(headerReason, text(connector.LetterReason, i))
		l.addTime(headerTime, b.Cols[connector.LetterMet].I64[i])
		if err := put(l.record(-1)); err != nil {
			return i, err
		}
	}
	return hi, nil
}

// bytesAt is the value of row i, nil for NULL.
func bytesAt(v *arrowbatch.Vec, i int) []byte {
	if v.IsNull(i) {
		return nil
	}
	return v.BytesAt(i)
}

// headers encodes the record's own.
func (m *letterMaker) headers(b *arrowbatch.Batch, i int) []byte {
	v := b.Cols[connector.LetterHeaders]
	lo, hi := int(v.Off[i]), int(v.Off[i+1])
	m.own = binary.AppendVarint(m.own[:0], int64(hi-lo))
	names, values := v.Kids[0].Kids[0], v.Kids[0].Kids[1]
	for k := lo; k < hi; k++ {
		m.own = appendBytes(m.own, names.BytesAt(k))
		m.own = appendBytes(m.own, bytesAt(values, k))
	}
	return m.own
}

// again returns what sends what is left of a letter that is too large for the topic.
func (m *letterMaker) again(w *writer) func(*outRecord, *sqlerr.Error) error {
	return func(r *outRecord, why *sqlerr.Error) error {
		if !m.left.shrink(r) {
			return why
		}
		return w.put(m.left.record(r.ms), r.ms)
	}
}
