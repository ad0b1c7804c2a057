package pgwire

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/sql/types"
)

// benchPortal repeats one batch.
type benchPortal struct {
	fakePortal
	b     *arrowbatch.Batch
	times int
}

func (p *benchPortal) Next(context.Context, int) (*arrowbatch.Batch, error) {
	if p.times--; p.times < 0 {
		return nil, io.EOF
	}
	return p.b.Share(), nil
}

func (p *benchPortal) Close() error { return nil }

const benchRows = 4096

func benchBatch() (*arrowbatch.Batch, []Column) {
	i, t, d := arrowbatch.NewFlat(arrowbatch.Int64, benchRows), arrowbatch.NewFlat(arrowbatch.Bytes, 0),
		arrowbatch.NewFlat(arrowbatch.Int32, benchRows)
	for k := range benchRows {
		i.I64[k], d.I32[k] = int64(k)*1009, int32(k)
		t.AppendString("channel of it")
	}
	return arrowbatch.NewBatch(benchRows, i, t, d),
		[]Column{{Name: "i", Type: types.TInt8}, {Name: "t", Type: types.TText}, {Name: "d", Type: types.TInt4}}
}

// BenchmarkRows measures rows of three columns (int8, text, int4) through a
// connection over loopback to a client that only reads.
func BenchmarkRows(b *testing.B) {
	for _, format := range []struct {
		name string
		code int16
	}{{"text", 0}, {"binary", 1}} {
		b.Run(format.name, func(b *testing.B) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			client, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				b.Fatal(err)
			}
			defer client.Close()
			nc, err := l.Accept()
			if err != nil {
				b.Fatal(err)
			}
			go func() {
				buf := make([]byte, 256<<10)
				for err == nil {
					_, err = client.Read(buf)
				}
			}()
			s, err := NewServer(&fakeBackend{}, Options{})
			if err != nil {
				b.Fatal(err)
			}
			c := newConn(s, nc)
			batch, cols := benchBatch()
			enc := newRowEncoder(cols, []int16{format.code}, nil)
			b.ReportAllocs()
			b.ResetTimer()
			p := &benchPortal{b: batch, times: (b.N + benchRows - 1) / benchRows}
			if _, _, err := c.pump(context.Background(), p, false, 0, enc.appendRows); err != nil {
				b.Fatal(err)
			}
			if err := c.out.flush(); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
			nc.Close()
		})
	}
}

// BenchmarkPointQuery measures a round trip of Bind, Execute, Sync, alone and
// beside idle connections; p99-µs is its 99th percentile.
func BenchmarkPointQuery(b *testing.B) {
	for _, idle := range []int{0, 2048} {
		b.Run(fmt.Sprintf("idle=%d", idle), func(b *testing.B) {
			_, _, addr := startServer(b, Options{})
			for range idle {
				connect(b, addr)
			}
			benchPoint(b, addr)
		})
	}
}

func benchPoint(b *testing.B, addr string) {
	f := connect(b, addr)
	f.send(b, "Parse name=s SELECT $1::int4", "Sync")
	f.untilReady(b, 1)
	var msg []byte
	for _, l := range []string{"Bind stmt=s pf=1 rf=1 x'00000007'", "Execute", "Sync"} {
		m, err := f.encode(l)
		if err != nil {
			b.Fatal(err)
		}
		msg = append(msg, m...)
	}
	buf := make([]byte, 4096)
	var took []time.Duration
	b.ReportAllocs()
	for b.Loop() {
		begun := time.Now()
		if _, err := f.nc.Write(msg); err != nil {
			b.Fatal(err)
		}
		for n := 0; !bytes.HasSuffix(buf[:n], []byte{'Z', 0, 0, 0, 5, 'I'}); {
			k, err := f.nc.Read(buf[n:])
			if err != nil {
				b.Fatal(err)
			}
			n += k
		}
		took = append(took, time.Since(begun))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, "p99-µs")
}
