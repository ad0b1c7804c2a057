package types

import (
	"fmt"

	"github.com/streamsql/streamsql/arrowbatch"
)

// Pretty returns the readable form of a batch whose columns have the given
// types: arrowbatch.Pretty with values as SQL shows them, times in UTC.
//
//   - 1 2024-01-05T10:00:00+00 {a,b}
func Pretty(ts []Type, b *arrowbatch.Batch) string {
	var buf []byte
	return string(arrowbatch.PrettyWith(b, func(dst []byte, col, i int) []byte {
		t := ts[col]
		buf = AppendText(buf[:0], t, b.Cols[col], i, nil)
		if t.IsTimestamp() && len(buf) > 10 {
			for k, c := range buf {
				if c == ' ' {
					buf[k] = 'T' // one word, which the type's input reads as well
					break
				}
			}
		}
		return arrowbatch.AppendWord(dst, buf)
	}))
}

// ParseBatch reads what Pretty wrote, or a person in the same form, into a batch
// of columns of the given types. A word is whatever the type's input function
// reads; one with blanks or brackets stands in quotes.
func ParseBatch(ts []Type, text string) (*arrowbatch.Batch, error) {
	shapes := make([]arrowbatch.Shape, len(ts))
	for i, t := range ts {
		shapes[i] = t.Shape()
	}
	b := arrowbatch.NewLike(shapes)
	err := arrowbatch.ParseLines(text, false, func(op arrowbatch.Op, ws []arrowbatch.Word) error {
		if len(ws) != len(ts) {
			return fmt.Errorf("%d values for %d columns", len(ws), len(ts))
		}
		for i, w := range ws {
			if w.IsNull() {
				b.Cols[i].AppendNull()
			} else if err := ParseString(ts[i], w.Text, b.Cols[i], nil); err != nil {
				return fmt.Errorf("column %d: %w", i+1, err)
			}
		}
		b.AppendOp(op)
		return nil
	})
	if err != nil {
		b.Release()
		return nil, err
	}
	return b, nil
}
