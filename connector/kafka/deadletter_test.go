package kafka

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
	"github.com/streamsql/streamsql/state"
)

// limited starts a broker with topic "t" that takes 2,000 bytes a batch, and topic
// "dead" that takes as many as it is told.
func limited(t *testing.T, partitions int32, dead string) (*kfake.Cluster, string) {
	t.Helper()
	c, addr := cluster(t, 0)
	if err := c.CreateTopic("t", partitions, map[string]string{"max.message.bytes": "2000"}); err != nil {
		t.Fatal(err)
	}
	if err := c.CreateTopic("dead", 2, map[string]string{"max.message.bytes": dead}); err != nil {
		t.Fatal(err)
	}
	return c, addr
}

// headersOf are a record's headers by name.
func headersOf(r *kgo.Record) map[string]string {
	out := map[string]string{}
	for _, h := range r.Headers {
		out[h.Key] = string(h.Value)
	}
	return out
}

// wantHeaders compares a record's headers with name=value lines; a value «*» is any.
func wantHeaders(t *testing.T, r *kgo.Record, want ...string) {
	t.Helper()
	var got []string
	for i, h := range r.Headers {
		line := h.Key + "=" + string(h.Value)
		if i < len(want) && want[i] == h.Key+"=*" {
			line = want[i]
		}
		got = append(got, line)
	}
	if !slices.Equal(got, want) {
		t.Errorf("headers\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// bigRows makes the rows lo to hi-1, every third of them larger than the topic takes.
func bigRows(lo, hi int) *arrowbatch.Batch {
	var lines []string
	for i := lo; i < hi; i++ {
		k := "small"
		if i%3 == 0 {
			k = strings.Repeat("g", 3000)
		}
		lines = append(lines, fmt.Sprintf("+ %s %d", k, i))
	}
	return rows(lines...)
}

// wantDivided checks that of the rows 0 to n-1 the large ones are dead letters and the
// others in the topic, each once and those of a partition in order.
func wantDivided(t *testing.T, addr string, n int) {
	t.Helper()
	var small, big []int
	for _, r := range committed(t, addr, "t") {
		var v struct{ V int }
		if err := json.Unmarshal(r.Value, &v); err != nil {
			t.Fatal(err)
		}
		small = append(small, v.V)
	}
	for _, r := range committed(t, addr, "dead") {
		var key, v map[string]any
		if err := json.Unmarshal(r.Key, &key); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(r.Value, &v); err != nil || v["value_bytes"].(float64) < 3000 {
			t.Fatal(err, string(r.Value))
		}
		big = append(big, int(key["v"].(float64)))
	}
	slices.Sort(small)
	slices.Sort(big)
	var wantSmall, wantBig []int
	for i := range n {
		if i%3 == 0 {
			wantBig = append(wantBig, i)
		} else {
			wantSmall = append(wantSmall, i)
		}
	}
	if !slices.Equal(small, wantSmall) || !slices.Equal(big, wantBig) {
		t.Fatalf("topic %v\ndead %v", shortList(small), shortList(big))
	}
}

func (s *server) writeBig(lo, hi int) {
	s.t.Helper()
	b := bigRows(lo, hi)
	defer b.Release()
	if err := s.w.Write(testContext(s.t), b); err != nil {
		s.t.Fatal(err)
	}
}

// Rows that the topic does not take go to the dead letters in the transaction of the
// rows beside them, wherever a run ends.
func TestDeadLettersOfSink(t *testing.T) {
	for _, c := range []struct {
		name string
		last func(s *server) // what the run does of its last epoch, rows 10 to 19
		next int
	}{
		{"written", func(s *server) { s.writeBig(10, 20) }, 10},
		{"prepared, no checkpoint", func(s *server) {
			s.writeBig(10, 20)
			s.w.Prepare(testContext(s.t), s.epoch+1)
		}, 10},
		{"checkpoint", func(s *server) { s.writeBig(10, 20); s.prepare() }, 20},
		{"checkpoint, and rows of the next", func(s *server) { s.writeBig(10, 20); s.prepare(); s.writeBig(20, 30) }, 20},
		{"committed", func(s *server) { s.writeBig(10, 20); s.prepare(); s.commit() }, 20},
		{"expired", func(s *server) { s.writeBig(10, 20); s.prepare(); s.crash(); time.Sleep(1200 * time.Millisecond) }, 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, addr := limited(t, 3, "100000")
			s := newServer(t, addr, "dead_letter", "dead", "key", "v", "transaction_timeout", "1 s")
			s.mustStart()
			s.writeBig(0, 10)
			s.prepareAndCommit()
			wantDivided(t, addr, 10)
			c.last(s)
			s.crash()
			s.mustStart()
			wantDivided(t, addr, c.next)
			s.writeBig(c.next, c.next+10)
			s.prepareAndCommit()
			s.writeBig(c.next+10, c.next+100)
			if n := s.w.(*writer).DeadLetters(); n == 0 {
				t.Error("no dead letters are counted")
			}
			s.prepareAndCommit()
			wantDivided(t, addr, c.next+100)
		})
	}
}

func (s *server) prepareAndCommit() {
	s.t.Helper()
	err := s.prepare()
	if err == nil {
		err = s.commit()
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// What is said of a row that the topic does not take; of a letter that is too large for
// its own topic the key goes, too.
func TestDeadLetterOfSink(t *testing.T) {
	for _, delivery := range []string{atLeastOnce, exactlyOnce} {
		_, addr := limited(t, 1, "1500")
		spec := kvSpec(addr, formatUpsert, "dead_letter", "dead", "delivery", delivery)
		spec.Query, spec.Identity = "public.q", "x"
		w := openWriter(t, spec)
		write(t, w, 1, "+ small 1", "+ "+strings.Repeat("b", 900)+" 2", "- small 1", "+ "+strings.Repeat("c", 2500)+" 3", "+ d 4")
		if delivery == exactlyOnce {
			commitLast(t, w)
		}
		var keys []string
		for _, r := range committed(t, addr, "t") {
			keys = append(keys, string(r.Key))
		}
		if want := []string{`{"k":"small"}`, `{"k":"` + strings.Repeat("b", 900) + `"}`, `{"k":"small"}`, `{"k":"d"}`}; !slices.Equal(keys, want) {
			t.Errorf("keys %q", keys)
		}
		dead := committed(t, addr, "dead")
		if len(dead) != 1 {
			t.Fatal(len(dead))
		}
		r := dead[0]
		wantHeaders(t, r, "streamsql.sink=out", "streamsql.query=public.q", "streamsql.topic=t", "streamsql.sqlstate=54000",
			"streamsql.error=*", "streamsql.time=*", "streamsql.value_bytes=2514", "streamsql.key_bytes=2508")
		var v map[string]any
		if err := json.Unmarshal(r.Value, &v); err != nil || r.Key != nil || v["key_bytes"] != 2508.0 || v["sqlstate"] != "54000" ||
			!strings.Contains(v["error"].(string), `with key {"k":"ccc`) {
			t.Errorf("%v %q %s", err, r.Key, r.Value)
		}
	}
}

// commitLast commits the writer's only epoch.
func commitLast(t *testing.T, w connector.Writer) {
	t.Helper()
	x := w.(*writer)
	tx := x.txns[x.last]
	if err := x.s.endTxn(testContext(t), tx.id, tx.who, true); err != nil {
		t.Fatal(err)
	}
}

// A row of which no record can be made is a dead letter with the row in it.
func TestDeadLetterOfRow(t *testing.T) {
	_, addr := limited(t, 2, "100000")
	spec := kvSpec(addr, formatPlain, "dead_letter", "dead", "partition", "v")
	w := openWriter(t, spec)
	write(t, w, 1, "+ a 0", "+ b 7", "+ c 1", "+ d -1")
	if got := committed(t, addr, "t"); len(got) != 2 {
		t.Fatal(len(got))
	}
	var got []string
	for _, r := range committed(t, addr, "dead") {
		h := headersOf(r)
		got = append(got, string(r.Value)+" "+h["streamsql.op"]+" "+h["streamsql.error"])
	}
	slices.Sort(got)
	want := []string{`{"k":"b","v":7} insert a row is for partition 7 of topic "t", which has 2`,
		`{"k":"d","v":-1} insert value -1 of column "v" is no partition`}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if n := w.(*writer).DeadLetters(); n != 2 {
		t.Error(n)
	}
}

// Without a topic for them, the row and its size are named.
func TestRefusedRecord(t *testing.T) {
	c, addr := cluster(t, 1)
	w := openWriter(t, kvSpec(addr, formatUpsert))
	answerProduce(c, func(int32) int16 { return 87 })
	if err := w.Write(testContext(t), rows("+ a 1", "+ b 2")); err != nil {
		t.Fatal(err)
	}
	_, err := w.Prepare(testContext(t), 1)
	wantError(t, err, sqlerr.InvalidParameterValue, `topic "t" does not accept a record of 24 bytes with key {"k":"a"}`)
}

func TestDeadLetterOptions(t *testing.T) {
	for _, c := range []struct {
		options []string
		want    string
	}{
		{[]string{"on_error", "dead_letter"}, `on_error = 'dead_letter' needs option "dead_letter"`},
		{[]string{"on_error", "skip", "dead_letter", "d"}, `option "dead_letter" contradicts on_error = 'skip'`},
		{[]string{"on_error", "fail", "dead_letter", "d"}, `option "dead_letter" contradicts on_error = 'fail'`},
		{[]string{"dead_letter", ""}, `option "dead_letter" names nothing`},
		{[]string{"dead_letter", "t"}, `option "dead_letter" names the topic that is read`},
		{[]string{"dead_letter", "d", "partitions", "3"}, `option "partitions" needs create_topic`},
		{[]string{"delivery", "exactly_once"}, `delivery`},
		{[]string{"dead_letter", "d"}, ""},
		{[]string{"on_error", "dead_letter", "dead_letter", "d", "delivery", "at_least_once"}, ""},
	} {
		err := Factory().CheckSource(idSpec("b:1", c.options...))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: %v", c.options, err)
		}
	}
	err := Factory().CheckSink(t.Context(), kvSpec("b:1", formatUpsert, "dead_letter", "t"))
	wantError(t, err, sqlerr.InvalidParameterValue, `option "dead_letter" names the sink's own topic`)
}

// letterServer runs the dead letters of a source, whose sink stands in a query.
type letterServer struct {
	*server
	spec *connector.Spec
}

func newLetterServer(t *testing.T, addr string, options ...string) *letterServer {
	t.Helper()
	st, err := state.Open("", state.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := &letterServer{server: &server{t: t, store: st, addr: addr, topic: "dead"},
		spec: idSpec(addr, append([]string{"dead_letter", "dead"}, options...)...)}
	t.Cleanup(func() {
		s.crash()
		st.Close()
	})
	s.spec.Name, s.spec.Query = "public.src", "public.q"
	s.spec.Identity, s.spec.Outbox = st.ID()+"-1-1-dead", st.Outbox(1, 1)
	return s
}

func (s *letterServer) begin() {
	s.t.Helper()
	ctx := testContext(s.t)
	k, err := Factory().DeadLetters(ctx, s.spec)
	if err == nil && s.prepared != nil {
		err = k.Commit(ctx, s.epoch, s.prepared)
	}
	if err == nil {
		err = k.Abort(ctx, s.epoch)
	}
	if err == nil {
		s.sink = k
		s.w, err = k.Open(ctx, 0)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *letterServer) send(rows []connector.BadRow) {
	s.t.Helper()
	b := connector.DeadLetters(rows)
	defer b.Release()
	if err := s.w.Write(testContext(s.t), b); err != nil {
		s.t.Fatal(err)
	}
}

// A record that cannot be read goes to the dead letters to the byte, with its own
// headers and those that tell what it is, once, wherever the run ends.
func TestDeadLettersOfSource(t *testing.T) {
	t.Parallel()
	_, addr := limited(t, 1, "100000")
	at := time.UnixMilli(1_700_000_000_123)
	recs := []*kgo.Record{
		{Topic: "t", Key: []byte{0xff, 0}, Value: []byte("{\"id\":\x00"), Timestamp: at, Headers: []kgo.RecordHeader{
			{Key: "trace", Value: []byte("a")}, {Key: "none"}, {Key: "trace", Value: []byte{0xfe}}}},
		{Topic: "t", Value: []byte(`{"id":1}`), Timestamp: at},
		{Topic: "t", Value: []byte{}, Key: []byte{}, Timestamp: at},
		{Topic: "t", Key: []byte("gone"), Timestamp: at},
		{Topic: "t", Value: []byte(`{"id":"` + strings.Repeat("z", 1500) + `"}`), Timestamp: at},
	}
	if err := kgoClient(t, addr).ProduceSync(testContext(t), recs...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	s := newLetterServer(t, addr, "transaction_timeout", "1 s")
	r := openReader(t, open(t, s.spec), 0, "")
	if got, _, err := readTo(t, r, "5"); err != nil || !equal(got, 1) {
		t.Fatal(got, err)
	}
	bad := s.spec.BadRows.(*badRows).rows
	s.begin()
	s.send(bad[:1])
	s.crash() // all is read again
	s.begin()
	s.send(bad)
	if err := s.prepare(); err != nil {
		t.Fatal(err)
	}
	s.crash()
	time.Sleep(1200 * time.Millisecond) // and written again from the outbox
	s.begin()
	got := committed(t, addr, "dead")
	slices.SortFunc(got, func(a, b *kgo.Record) int {
		return strings.Compare(headersOf(a)["streamsql.offset"], headersOf(b)["streamsql.offset"])
	})
	if len(got) != 3 {
		t.Fatalf("%d letters", len(got))
	}
	for i, at := range []int{0, 2, 4} {
		if string(got[i].Value) != string(recs[at].Value) || string(got[i].Key) != string(recs[at].Key) ||
			(got[i].Key == nil) != (recs[at].Key == nil) {
			t.Errorf("letter %d: %q %q", i, got[i].Key, got[i].Value)
		}
	}
	wantHeaders(t, got[0], "trace=a", "none=", "trace=\xfe", "streamsql.source=public.src", "streamsql.query=public.q",
		"streamsql.topic=t", "streamsql.partition=0", "streamsql.offset=0", "streamsql.timestamp=2023-11-14T22:13:20.123000Z",
		"streamsql.sqlstate=22P02", "streamsql.error=*", "streamsql.time=*")
	if got[0].Headers[1].Value != nil {
		t.Error("a header without a value got one")
	}
	if e := headersOf(got[2])["streamsql.error"]; len(e) > 1100 {
		t.Errorf("an error of %d bytes", len(e))
	}
}

// A letter that is larger than its topic takes is sent without its value, then without
// its key.
func TestLargeLetters(t *testing.T) {
	_, addr := limited(t, 1, "2000")
	s := newLetterServer(t, addr)
	s.begin()
	big := []byte(strings.Repeat("b", 1900))
	s.send([]connector.BadRow{
		{Split: "3", Offset: "10", Reason: "r", Code: "22P02", Bytes: big, Key: []byte("k"), Time: arrowbatch.NoTime,
			Headers: []connector.Header{{Name: []byte("own"), Value: []byte("h")}}},
		{Split: "3", Offset: "11", Reason: "r", Code: "22P02", Bytes: []byte("v"), Key: big, Time: arrowbatch.NoTime},
		{Split: "3", Offset: "12", Reason: "r", Code: "22P02", Bytes: []byte("small"), Time: arrowbatch.NoTime},
	})
	s.prepareAndCommit()
	got := map[string]*kgo.Record{}
	for _, r := range committed(t, addr, "dead") {
		got[headersOf(r)["streamsql.offset"]] = r
	}
	if len(got) != 3 || string(got["12"].Value) != "small" {
		t.Fatal(got)
	}
	const head = `{"source":"public.src","query":"public.q","topic":"t","partition":3,"offset":`
	if r := got["10"]; !strings.HasPrefix(string(r.Value), head+"10,") || !strings.HasSuffix(string(r.Value), `,"value_bytes":1900}`) ||
		string(r.Key) != "k" || headersOf(r)["own"] != "h" {
		t.Errorf("%q %s %v", r.Key, r.Value, r.Headers)
	}
	if r := got["11"]; !strings.HasPrefix(string(r.Value), head+"11,") ||
		!strings.HasSuffix(string(r.Value), `,"value_bytes":1,"key_bytes":1900}`) || r.Key != nil {
		t.Errorf("%q %s", r.Key, r.Value)
	}
}

// A read of nothing but garbage ends like one of rows does.
func TestGarbageIsReadInPieces(t *testing.T) {
	_, addr := cluster(t, 1)
	var values []string
	for range 3 * maxRows {
		values = append(values, "x")
	}
	produceTo(t, kgoClient(t, addr), 0, values...)
	spec := idSpec(addr, "on_error", "skip")
	spec.Clock = clock.System{}
	bad := spec.BadRows.(*badRows)
	r := openReader(t, open(t, spec), 0, "")
	for n := 0; n < 3*maxRows; {
		b, _, err := r.Read(testContext(t), "")
		b.Release()
		if err != nil && err != connector.ErrIdle {
			t.Fatal(err)
		}
		now := len(bad.rows)
		if now-n > maxRows {
			t.Fatalf("%d records in one read", now-n)
		}
		n = now
	}
	big := idSpec(addr, "on_error", "skip")
	big.Columns = []connector.Column{{Name: "id", Type: types.TInt8}}
	produceTo(t, kgoClient(t, addr), 0, strings.Repeat("y", connector.KeptBytes+1))
	r = openReader(t, open(t, big), 0, connector.Offset(fmt.Sprint(3*maxRows)))
	if _, _, err := readTo(t, r, connector.Offset(fmt.Sprint(3*maxRows+1))); err != nil {
		t.Fatal(err)
	}
	if b := big.BadRows.(*badRows).rows; len(b) != 1 || len(b[0].Bytes) != connector.KeptBytes {
		t.Fatal(len(b))
	}
}
