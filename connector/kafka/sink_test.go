package kafka

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/sql/types"
)

// kvSpec is a sink of (k text, v bigint) with stream key k that writes at least
// once where the options do not say otherwise.
func kvSpec(brokers, fmt string, options ...string) *connector.Spec {
	s := &connector.Spec{Name: "out", Options: map[string]string{"brokers": brokers, "topic": "t", "delivery": atLeastOnce},
		Format: fmt, Encode: "json", Key: []int{0}, AppendOnly: fmt == formatPlain, Clock: clock.System{},
		Columns: []connector.Column{{Name: "k", Type: types.TText}, {Name: "v", Type: types.TInt8}}}
	for i := 0; i < len(options); i += 2 {
		s.Options[options[i]] = options[i+1]
	}
	return s
}

// rows makes a batch of lines such as "+ a 1".
func rows(lines ...string) *arrowbatch.Batch {
	k, v := arrowbatch.NewFlat(arrowbatch.Bytes, 0), arrowbatch.NewFlat(arrowbatch.Int64, 0)
	b := arrowbatch.NewBatch(0, k, v)
	for _, l := range lines {
		var op, key string
		var n int64
		if _, err := fmt.Sscan(l, &op, &key, &n); err != nil {
			panic(err)
		}
		if key == "NULL" {
			k.AppendNull()
		} else {
			k.AppendString(key)
		}
		v.AppendInt64(n)
		b.AppendOp(map[string]arrowbatch.Op{"+": arrowbatch.Insert, "-": arrowbatch.Delete}[op])
	}
	return b
}

func openWriter(t testing.TB, s *connector.Spec) connector.Writer {
	t.Helper()
	if err := Factory().CheckSink(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	k, err := Factory().Sink(testContext(t), s)
	if err != nil {
		t.Fatal(err)
	}
	w, err := k.Open(testContext(t), 0)
	if err != nil {
		k.Close()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.Close()
		k.Close()
	})
	return w
}

func write(t testing.TB, w connector.Writer, e connector.Epoch, lines ...string) {
	t.Helper()
	b := rows(lines...)
	if err := w.Write(testContext(t), b); err != nil {
		t.Fatal(err)
	}
	b.Release()
	if _, err := w.Prepare(testContext(t), e); err != nil {
		t.Fatal(err)
	}
}

// consume reads n committed records of topic "t" with franz-go.
func consume(t testing.TB, brokers string, n int) (out []*kgo.Record) {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(brokers, ",")...), kgo.ConsumeTopics("t"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx := testContext(t)
	for len(out) < n {
		f := c.PollFetches(ctx)
		if ctx.Err() != nil {
			t.Fatalf("%d of %d records came", len(out), n)
		}
		for _, e := range f.Errors() {
			if e.Err != context.Canceled {
				t.Fatal(e.Err)
			}
		}
		out = append(out, f.Records()...)
	}
	return out
}

func show(rs []*kgo.Record) string {
	var b strings.Builder
	for _, r := range rs {
		key, value := "-", "tombstone"
		if r.Key != nil {
			key = string(r.Key)
		}
		if r.Value != nil {
			value = string(r.Value)
		}
		fmt.Fprintf(&b, "%s %s\n", key, value)
	}
	return b.String()
}

func TestEnvelopes(t *testing.T) {
	changes := []string{"+ a 1", "+ NULL 2", "- a 1", "+ a 3", "- a 3", "+ b 4", "- b 4"}
	for _, c := range []struct {
		format  string
		options []string
		lines   []string
		want    string
	}{
		{formatPlain, nil, []string{"+ a 1", "+ b 2"}, "- {\"k\":\"a\",\"v\":1}\n- {\"k\":\"b\",\"v\":2}\n"},
		{formatPlain, []string{"key", "v, k"}, []string{"+ a 1"}, "{\"v\":1,\"k\":\"a\"} {\"k\":\"a\",\"v\":1}\n"},
		{formatUpsert, nil, changes, `{"k":"a"} {"k":"a","v":1}
{"k":null} {"k":null,"v":2}
{"k":"a"} {"k":"a","v":3}
{"k":"a"} tombstone
{"k":"b"} {"k":"b","v":4}
{"k":"b"} tombstone
`},
		{formatDebezium, nil, changes, `{"k":"a"} {"before":null,"after":{"k":"a","v":1},"op":"c"}
{"k":null} {"before":null,"after":{"k":null,"v":2},"op":"c"}
{"k":"a"} {"before":{"k":"a","v":1},"after":{"k":"a","v":3},"op":"u"}
{"k":"a"} {"before":{"k":"a","v":3},"after":null,"op":"d"}
{"k":"b"} {"before":null,"after":{"k":"b","v":4},"op":"c"}
{"k":"b"} {"before":{"k":"b","v":4},"after":null,"op":"d"}
`},
	} {
		t.Run(c.format+strings.Join(c.options, "="), func(t *testing.T) {
			_, addr := cluster(t, 1)
			write(t, openWriter(t, kvSpec(addr, c.format, c.options...)), 1, c.lines...)
			if got := show(consume(t, addr, strings.Count(c.want, "\n"))); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
}

// A change is one whatever piece of the batch its halves fall into.
func TestChangesAcrossPieces(t *testing.T) {
	lines := []string{"+ a 0"}
	for i := range 300 {
		lines = append(lines, fmt.Sprintf("- a %d", i), fmt.Sprintf("+ a %d", i+1))
	}
	for format, want := range map[string]string{
		formatDebezium: `{"before":{"k":"a","v":%d},"after":{"k":"a","v":%d},"op":"u"}`,
		formatUpsert:   `{"k":"a","v":%[2]d}`,
	} {
		_, addr := cluster(t, 1)
		write(t, openWriter(t, kvSpec(addr, format)), 1, lines...)
		got := consume(t, addr, 301)
		if len(got) != 301 {
			t.Fatal(format, len(got))
		}
		for i, r := range got[1:] {
			if w := fmt.Sprintf(want, i, i+1); string(r.Value) != w {
				t.Fatalf("%s: record %d is %s", format, i+1, r.Value)
			}
		}
	}
}
