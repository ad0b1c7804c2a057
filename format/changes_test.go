package format

import (
	"strings"
	"testing"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/sql/types"
)

// changesOf prints the rows of a batch: the op, then each column's text.
func changesOf(cols []Column, b *arrowbatch.Batch) string {
	defer b.Release()
	var out strings.Builder
	for i := range b.Len {
		out.WriteByte("+-"[b.OpAt(i)])
		for k, c := range cols {
			out.WriteByte(' ')
			if b.Cols[k].IsNull(i) {
				out.WriteString("NULL")
				continue
			}
			out.Write(types.AppendText(nil, c.Type, b.Cols[k], i, nil))
		}
		out.WriteByte('\n')
	}
	return out.String()
}

func eventDecoder(t *testing.T, cols []Column, key ...int) *Decoder {
	t.Helper()
	d, err := New(cols, JSON, Options{Changes: Events, Key: KeyOptions{Columns: key}})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

var cityCols = []Column{{Name: "id", Type: types.TInt8}, {Name: "city", Type: types.TText}}

func TestEvents(t *testing.T) {
	d := eventDecoder(t, cityCols, 0)
	for _, r := range []string{
		`{"before":null,"after":{"id":1,"city":"Lima"},"source":{"snapshot":"true"},"op":"r","ts_ms":1}`,
		`{"before":{"id":1,"city":"Lima"},"after":{"id":1,"city":"Oslo"},"op":"u"}`,
		`{"op":"u","after":{"city":"Rome","id":2},"before":{"city":"Oslo","id":1}}`,
		`{"before":null,"after":{"id":2,"city":null},"op":"u"}`,
		`{"before":{"id":2,"city":null},"after":null,"op":"d"}`,
		`{"status":"BEGIN","id":"571","event_count":null}`,
		`{"op":"m","message":{"prefix":"x","content":"eA=="}}`,
	} {
		if err := d.AppendRecord(nil, []byte(r)); err != nil {
			t.Errorf("%s: %v", r, err)
		}
	}
	if err := d.AppendRecord(nil, nil); err != nil {
		t.Error(err)
	}
	want := "+ 1 Lima\n+ 1 Oslo\n- 1 NULL\n+ 2 Rome\n+ 2 NULL\n- 2 NULL\n"
	if got := changesOf(cityCols, d.Take()); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
}
