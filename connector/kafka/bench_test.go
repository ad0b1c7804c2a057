package kafka

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/sql/types"
	"github.com/streamsql/streamsql/tests/testenv"
)

var bidColumns = []connector.Column{{Name: "auction", Type: types.TInt8}, {Name: "bidder", Type: types.TInt8},
	{Name: "price", Type: types.TInt8}, {Name: "channel", Type: types.TText}, {Name: "url", Type: types.TText},
	{Name: "dateTime", Type: types.TTimestamp}}

func bid(i int) []byte {
	return fmt.Appendf(nil, `{"auction":%d,"bidder":%d,"price":%d,"channel":"channel-%d",`+
		`"url":"https://www.nexmark.com/item.htm?query=%d","dateTime":"2026-01-31 12:%02d:%02d.%03d"}`,
		1000+i%500, 2000+i%700, i*37%100000, i%50, i, i/60%60, i%60, i%1000)
}

// benchReader returns a reader that is fed by hand.
func benchReader(b *testing.B, cols []connector.Column) *reader {
	b.Helper()
	spec := idSpec("unused:1")
	spec.Columns = cols
	s, err := describeSource(spec, false)
	if err != nil {
		b.Fatal(err)
	}
	d, err := s.cfg.format.Decoder(cols)
	if err != nil {
		b.Fatal(err)
	}
	r := &reader{src: s, dec: d, end: never}
	r.meta.cols = s.meta
	return r
}

// BenchmarkDecode decodes record sets of 4,000 bids each from memory.
func BenchmarkDecode(b *testing.B) {
	for _, c := range []struct {
		name  string
		cols  []connector.Column
		codec int8
	}{
		{"bid", bidColumns, noCompression},
		{"bid_lz4", bidColumns, 3},
		{"one_column", []connector.Column{{Name: "price", Type: types.TInt8}}, noCompression},
		{"metadata_only", []connector.Column{{Name: "o", Type: types.TInt8, Meta: "offset"},
			{Name: "k", Type: types.TBytea, Meta: "key"}}, noCompression},
	} {
		b.Run(c.name, func(b *testing.B) {
			const n = 4000
			o := newOutBatch(0)
			for i := range n {
				o.add(fmt.Appendf(nil, "%d", i%500), bid(i), nil, int64(i))
			}
			raw, err := o.seal(noIdentity, c.codec)
			if err != nil {
				b.Fatal(err)
			}
			r := benchReader(b, c.cols)
			b.SetBytes(int64(len(o.buf) / n))
			b.ReportAllocs()
			left := b.N
			b.ResetTimer()
			for left > 0 {
				r.pos = 0
				r.begin(&recordSet{data: append(getBuffer(len(raw))[:0], raw[sizePrefix:]...)})
				for r.cur != nil {
					if err := r.fill(math.MaxInt64); err != nil {
						b.Fatal(err)
					}
					batch := r.dec.Take()
					left -= batch.Len
					batch.Release()
					r.bytes = 0
				}
			}
		})
	}
}

// BenchmarkRead reads bids from Apache Kafka over loopback: fetch and decode.
func BenchmarkRead(b *testing.B) {
	addr := testenv.Kafka(b)
	topic := testenv.Unique(b, "bench")
	k := kvSpec(addr, formatPlain, "topic", topic, "create_topic", "true", "partitions", "1")
	w := openWriter(b, k)
	w.Close()
	kc := kgoClient(b, addr, kgo.ProducerBatchMaxBytes(900_000))
	const n = 400_000
	var rs []*kgo.Record
	for i := range n {
		rs = append(rs, &kgo.Record{Topic: topic, Value: bid(i)})
	}
	if err := kc.ProduceSync(context.Background(), rs...).FirstErr(); err != nil {
		b.Fatal(err)
	}
	spec := idSpec(addr, "topic", topic)
	spec.Columns = bidColumns
	for b.Loop() {
		s := open(b, spec)
		r := openReader(b, s, 0, "0")
		rows := 0
		for rows < n {
			batch, _, err := r.Read(context.Background(), "")
			if errors.Is(err, connector.ErrIdle) {
				continue
			}
			if err != nil {
				b.Fatal(err)
			}
			rows += batch.Len
			batch.Release()
		}
		s.Close()
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkWrite writes rows to Apache Kafka over loopback, acknowledged by all.
func BenchmarkWrite(b *testing.B) {
	addr := testenv.Kafka(b)
	k := kvSpec(addr, formatPlain, "topic", testenv.Unique(b, "bench"), "create_topic", "true", "partitions", "1")
	w := openWriter(b, k)
	const n = 8192
	batch := arrowbatch.NewBatch(n, arrowbatch.NewFlat(arrowbatch.Bytes, 0), arrowbatch.NewFlat(arrowbatch.Int64, 0))
	for i := range n {
		batch.Cols[0].AppendString(fmt.Sprintf("key-%d", i))
		batch.Cols[1].AppendInt64(int64(i))
	}
	for b.Loop() {
		if err := w.Write(context.Background(), batch); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := w.Prepare(context.Background(), 1); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
