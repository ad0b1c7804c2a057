package kafka

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

func TestStartingOffsets(t *testing.T) {
	_, addr := cluster(t, 2)
	base := time.UnixMilli(1_700_000_000_000).UTC()
	var recs []*kgo.Record
	for i := range 10 {
		recs = append(recs, &kgo.Record{Topic: "t", Value: fmt.Appendf(nil, `{"id":%d}`, i),
			Timestamp: base.Add(time.Duration(i) * time.Second)})
	}
	kc := kgoClient(t, addr)
	for _, r := range recs { // one batch each
		if err := kc.ProduceSync(testContext(t), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		start, end string
		lo, hi     int
	}{
		{"earliest", "", 0, 10},
		{"latest", "", 10, 10},
		{"timestamp:" + base.Add(4*time.Second).Format("2006-01-02 15:04:05Z07:00"), "", 4, 10},
		{fmt.Sprint("timestamp:", base.UnixMilli()+4001), "", 5, 10},
		{"timestamp:2999-01-01 00:00:00+00", "", 10, 10},
		{`{"0": 7}`, "", 7, 10},
		{`{"0": -1}`, "", 10, 10},
		{`{"0": -2, "1": 0}`, `{"0": 3}`, 0, 3},
		{"earliest", "latest", 0, 10},
		{`{"0": 2}`, fmt.Sprint("timestamp:", base.UnixMilli()+5000), 2, 5},
		{`{"0": "latest"}`, "", 10, 10},
		{fmt.Sprintf(`{"0": "timestamp:%d"}`, base.UnixMilli()+3000), `{"0": "latest"}`, 3, 10},
		{"earliest", fmt.Sprintf(`{"0": "timestamp:%d", "1": "latest"}`, base.UnixMilli()+2001), 0, 3},
		{"earliest", "timestamp:0", 0, 0},                       // the first record at or after it is the first
		{"earliest", "timestamp:2999-01-01 00:00:00+00", 0, 10}, // no record is: the end now
		{`{"0": 7}`, `{"0": 3}`, 7, 3},                          // the end is before the start
		{"latest", fmt.Sprint("timestamp:", base.UnixMilli()+5000), 10, 5},
	} {
		opts := []string{"starting_offsets", c.start}
		if c.end != "" {
			opts = append(opts, "ending_offsets", c.end)
		}
		s := open(t, idSpec(addr, opts...))
		until := connector.Offset("10")
		if c.end != "" {
			if until = ""; latest(t, s, 0) != offsetText(int64(c.hi)) {
				t.Errorf("%v: latest %s", opts, latest(t, s, 0))
			}
		}
		got, _, err := readTo(t, openReader(t, s, 0, ""), until)
		if err != nil || len(got) != max(0, c.hi-c.lo) || len(got) > 0 && got[0] != int64(c.lo) {
			t.Errorf("%v: %v, %v", opts, got, err)
		}
		if c.end != "" { // the other partition is empty
			if got, next, err := readTo(t, openReader(t, s, 1, ""), ""); err != nil || len(got) != 0 || next != "0" {
				t.Errorf("%v: %v to %s of an empty partition, %v", opts, got, next, err)
			}
		}
	}
	_, _, err := readTo(t, openReader(t, open(t, idSpec(addr, "starting_offsets", `{"5": 1}`)), 0, ""), "1")
	wantError(t, err, sqlerr.InvalidParameterValue, "partition 5", "2 partitions")
}

func TestBadOptions(t *testing.T) {
	for _, c := range []struct {
		sink    bool
		options []string
		want    string
	}{
		{false, []string{"topic", ""}, `requires option "topic"`},
		{false, []string{"starting_ofsets", "latest"}, `"starting_offsets"`},
		{false, []string{"starting_offsets", "newest"}, `'earliest'`},
		{false, []string{"starting_offsets", `{"a": 1}`}, `partition "a"`},
		{false, []string{"starting_offsets", `{"0": -3}`}, `offset -3`},
		{false, []string{"starting_offsets", `{"0": "newest"}`}, `offset "newest"`},
		{false, []string{"starting_offsets", `{"0": null}`}, `offset null`},
		{false, []string{"max_offsets_per_trigger", "0"}, `outside the valid range`},
		{false, []string{"max_offsets_per_trigger", "5", "min_offsets_per_trigger", "6"}, `must not be greater`},
		{false, []string{"max_trigger_delay", "5 s"}, `needs option "min_offsets_per_trigger"`},
		{false, []string{"max_batch_bytes", "10 GB"}, `outside the valid range`},
		{false, []string{"starting_offsets", `timestamp:1969-12-31 00:00:00+00`}, `since 1970`},
		{false, []string{"starting_offsets", `timestamp:tomorrow-ish`}, `since 1970`},
		{false, []string{"ending_offsets", "earliest"}, `cannot be 'earliest'`},
		{false, []string{"brokers", "a:b:c"}, `"a:b:c"`},
		{false, []string{"brokers", " , "}, `names no broker`},
		{false, []string{"brokers", ""}, `requires option "brokers"`},
		{false, []string{"on_data_loss", "ignore"}, `fail, continue`},
		{false, []string{"sasl_username", "u"}, `sasl_mechanism`},
		{false, []string{"sasl_mechanism", "plain"}, `sasl_username`},
		{false, []string{"sasl_mechanism", "gssapi"}, `scram-sha-256`},
		{false, []string{"tls_ca_file", "/x"}, `"tls" is not on`},
		{false, []string{"tls", "on", "tls_cert_file", "/x"}, `need each other`},
		{false, []string{"buffer_memory", "1 kB"}, `outside the valid range`},
		{false, []string{"on_error", "dead"}, `fail, skip`},
		{true, []string{"delivery", "once"}, `at_least_once`},
		{true, []string{"transaction_timeout", "5 s"}, `needs delivery`},
		{true, []string{"delivery", "exactly_once", "transaction_timeout", "1 ms"}, `between 1 second`},
		{true, []string{"compression", "zst"}, `"zstd"`},
		{true, []string{"partitions", "3"}, `create_topic`},
		{true, []string{"key", "kk"}, `Perhaps you meant "k"`},
		{true, []string{"key", "v"}, `lacks column "k"`},
	} {
		var err error
		if c.sink {
			err = Factory().CheckSink(t.Context(), kvSpec("b:1", formatUpsert, c.options...))
		} else {
			err = Factory().CheckSource(idSpec("b:1", c.options...))
		}
		e := sqlerr.From(err)
		if e == nil || e.Code == sqlerr.InternalError {
			t.Errorf("%v: %v", c.options, err)
			continue
		}
		if all := e.Message + "|" + e.Detail + "|" + e.Hint; !strings.Contains(all, c.want) {
			t.Errorf("%v: %q lacks %q", c.options, all, c.want)
		}
	}
}

func TestRefusedFormats(t *testing.T) {
	for _, format := range []string{"upsert", "debezium", "plane"} {
		s := idSpec("b:1")
		s.Format = format
		if err := Factory().CheckSource(s); sqlerr.CodeOf(err) != sqlerr.InvalidParameterValue {
			t.Errorf("%s: %v", format, err)
		}
	}
	head := idSpec("b:1")
	head.Encode, head.FormatOptions["header"] = "csv", "true"
	if err := Factory().CheckSource(head); sqlerr.CodeOf(err) != sqlerr.InvalidParameterValue {
		t.Error(err)
	}
	plain := kvSpec("b:1", formatPlain)
	plain.AppendOnly = false
	if err := Factory().CheckSink(t.Context(), plain); sqlerr.CodeOf(err) != sqlerr.FeatureNotSupported {
		t.Error(err)
	}
	keyless := kvSpec("b:1", formatUpsert)
	keyless.Key = nil
	if err := Factory().CheckSink(t.Context(), keyless); sqlerr.CodeOf(err) != sqlerr.InvalidTableDefinition {
		t.Error(err)
	}
	csv := kvSpec("b:1", formatUpsert)
	csv.Encode = "csv"
	if err := Factory().CheckSink(t.Context(), csv); sqlerr.CodeOf(err) != sqlerr.FeatureNotSupported {
		t.Error(err)
	}
}

func TestPortIsOptional(t *testing.T) {
	c, err := readSource(idSpec("a, b:1, [::1], [::1]:2"), false)
	if err != nil || strings.Join(c.conn.brokers, " ") != "a:9092 b:1 [::1]:9092 [::1]:2" {
		t.Fatal(c.conn.brokers, err)
	}
}
