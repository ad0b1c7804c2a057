package arrowbatch

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"github.com/streamsql/streamsql/internal/decimal"
)

func TestRecord(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for range 100 {
		b := randomBatch(r, everyShape, r.IntN(150), r.IntN(2) == 0, false)
		want := Pretty(b)
		rec, err := b.Record(Schema(everyShape))
		if err != nil {
			t.Fatal(err)
		}
		// The record holds the columns: the batch may go first.
		b.Release()
		back, err := FromRecord(rec, everyShape)
		if err != nil {
			t.Fatal(err)
		}
		wellFormed(t, back)
		if Pretty(back) != want {
			t.Fatalf("got\n%swant\n%s", Pretty(back), want)
		}
		if n := int64(back.Len); n > 2 {
			part := rec.NewSlice(1, n-1)
			some, err := FromRecord(part, everyShape)
			if err != nil {
				t.Fatal(err)
			}
			if cut := back.Slice(1, int(n-1)); Pretty(some) != Pretty(cut) {
				t.Fatal("a slice of the record is read wrong")
			}
			part.Release()
		}
		rec.Release()
		back.Release()
	}
}

// TestRecordReleases checks that a record gives back the columns it looks at.
func TestRecordReleases(t *testing.T) {
	b := randomBatch(rand.New(rand.NewPCG(6, 6)), everyShape, 10, true, false)
	rec, err := b.Record(Schema(everyShape))
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range b.Cols {
		if c.Layout != Struct && !c.Shared() {
			t.Errorf("column %d is not held", i)
		}
	}
	rec.Release()
	for i, c := range b.Cols {
		if c.refs.Load() != 1 {
			t.Errorf("column %d has %d references", i, c.refs.Load())
		}
	}
	// What does not fit is refused, and nothing stays held.
	wrong := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int64}}, nil)
	for i, s := range everyShape {
		one := &Batch{Cols: b.Cols[i : i+1], Len: b.Len}
		if s.Layout != Int64 {
			if _, err := one.Record(wrong); err == nil {
				t.Errorf("%s is taken for int64", s.Layout)
			}
		}
		if b.Cols[i].refs.Load() != 1 {
			t.Errorf("column %d has %d references", i, b.Cols[i].refs.Load())
		}
	}
}

func TestRecordConversions(t *testing.T) {
	shapes := []Shape{{Layout: Decimal}, {Layout: Interval}, {Layout: Int32}, {Layout: Int64}, {Layout: Bytes}}
	b, err := ParsePretty(shapes,
		"+ 1.5 1mon-2d3us 19000 1700000000000000 text\n- NULL NULL NULL NULL NULL\n+ -0.25 0mon0d-1us -1 -1 x\n")
	if err != nil {
		t.Fatal(err)
	}
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "d", Type: &arrow.Decimal128Type{Precision: 20, Scale: 3}, Nullable: true},
		{Name: "i", Type: arrow.FixedWidthTypes.MonthDayNanoInterval, Nullable: true},
		{Name: "n", Type: arrow.FixedWidthTypes.Date32, Nullable: true},
		{Name: "t", Type: arrow.FixedWidthTypes.Timestamp_us, Nullable: true},
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true}}, nil)
	rec, err := b.Record(schema)
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	if got := rec.Column(0).ValueStr(0); got != "1.5" {
		t.Errorf("decimal is %s", got)
	}
	if got := rec.Column(1).ValueStr(0); got != `{"months":1,"days":-2,"nanoseconds":3000}` {
		t.Errorf("interval is %s", got)
	}
	if got := rec.Column(2).ValueStr(0); got != "2022-01-08" {
		t.Errorf("date is %s", got)
	}
	back, err := FromRecord(rec, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := "+ 1.500 1mon-2d3us 19000 1700000000000000 text\n+ NULL NULL NULL NULL NULL\n+ -0.250 0mon0d-1us -1 -1 x\n"
	if got := Pretty(back); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	over := NewFlat(Decimal, 0)
	over.AppendDecimal(decimal.NaN)
	if _, err := NewBatch(1, over).Record(arrow.NewSchema(schema.Fields()[:1], nil)); err == nil {
		t.Error("NaN becomes a decimal128")
	}
}

func TestFromForeignRecord(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "u8", Type: arrow.PrimitiveTypes.Uint8}, {Name: "u32", Type: arrow.PrimitiveTypes.Uint32},
		{Name: "u64", Type: arrow.PrimitiveTypes.Uint64}, {Name: "ns", Type: arrow.FixedWidthTypes.Timestamp_ns},
		{Name: "s", Type: arrow.FixedWidthTypes.Timestamp_s}, {Name: "ls", Type: arrow.BinaryTypes.LargeString}}, nil)
	rb := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer rb.Release()
	rb.Field(0).(*array.Uint8Builder).Append(255)
	rb.Field(1).(*array.Uint32Builder).Append(4294967295)
	rb.Field(2).(*array.Uint64Builder).Append(18446744073709551615)
	rb.Field(3).(*array.TimestampBuilder).Append(-1)
	rb.Field(4).(*array.TimestampBuilder).Append(7)
	rb.Field(5).(*array.LargeStringBuilder).Append("large")
	rec := rb.NewRecord()
	defer rec.Release()
	b, err := FromRecord(rec, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := Pretty(b), "+ 255 4294967295 18446744073709551615 -1 7000000 large\n"; got != want {
		t.Errorf("got %s", got)
	}
	if _, err := FromRecord(rec, []Shape{{Layout: Bytes}}); err == nil {
		t.Error("six columns are read as one")
	}
	if _, err := ShapeOf(arrow.Null); err == nil {
		t.Error("Arrow's null has a shape")
	}
}

func TestIPC(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	c, err := NewIPC(everyShape, nil)
	if err != nil {
		t.Fatal(err)
	}
	head, err := c.SchemaMessage()
	if err != nil {
		t.Fatal(err)
	}
	stream := bytes.NewBuffer(head)
	rows := 0
	for range 50 {
		b := randomBatch(r, everyShape, r.IntN(30), true, r.IntN(2) == 0)
		msg, err := c.Encode(nil, b)
		if err != nil {
			t.Fatal(err)
		}
		back, err := c.Decode(msg)
		if err != nil {
			t.Fatal(err)
		}
		wellFormed(t, back)
		if Pretty(back) != Pretty(b) {
			t.Fatalf("got\n%swant\n%s", Pretty(back), Pretty(b))
		}
		stream.Write(msg)
		rows += b.Len
		// Damage is an error, never a panic, and does not outlive the message.
		bad := bytes.Clone(msg)
		if r.IntN(2) == 0 {
			bad = bad[:r.IntN(len(bad))]
		} else {
			bad[r.IntN(len(bad))] ^= byte(1 + r.IntN(255))
		}
		if b, err := c.Decode(bad); err == nil {
			b.Release()
		}
		b.Release()
		back.Release()
	}
	// With the schema in front the messages are a stream that Arrow reads.
	rd, err := ipc.NewReader(stream)
	if err != nil {
		t.Fatal(err)
	}
	for rd.Next() {
		rows -= int(rd.Record().NumRows())
	}
	if rd.Err() != nil || rows != 0 {
		t.Errorf("%d rows are missing: %v", rows, rd.Err())
	}
}

func benchShapes() []Shape { return []Shape{{Layout: Int64}, {Layout: Bytes}, {Layout: Int64}} }

func BenchmarkIPC(b *testing.B) {
	for _, n := range []int{1, 10, 1000} {
		batch := randomBatch(rand.New(rand.NewPCG(1, 1)), benchShapes(), n, false, true)
		c, err := NewIPC(benchShapes(), nil)
		if err != nil {
			b.Fatal(err)
		}
		name := map[int]string{1: "1", 10: "10", 1000: "1000"}[n]
		msg, _ := c.Encode(nil, batch)
		row := AppendBatch(nil, batch)
		b.Run("encode/"+name, func(b *testing.B) {
			var buf []byte
			for b.Loop() {
				buf, _ = c.Encode(buf[:0], batch)
			}
			b.ReportMetric(float64(len(msg)), "bytes")
		})
		b.Run("decode/"+name, func(b *testing.B) {
			for b.Loop() {
				x, _ := c.Decode(msg)
				x.Release()
			}
		})
		b.Run("rowcode-encode/"+name, func(b *testing.B) {
			var buf []byte
			for b.Loop() {
				buf = AppendBatch(buf[:0], batch)
			}
			b.ReportMetric(float64(len(row)), "bytes")
		})
		b.Run("rowcode-decode/"+name, func(b *testing.B) {
			for b.Loop() {
				x, _ := DecodeBatch(row, benchShapes())
				x.Release()
			}
		})
	}
}
