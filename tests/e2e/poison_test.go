package e2e

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// poisonTopic is a topic of one format: N records, of which each hundredth is garbage.
type poisonTopic struct {
	poisoned
	topic, dead string
	n           int
	// want has the bad records by «partition|offset», as «bytes|md5»; kind their kinds.
	want, kind map[string]string
	rows       int // of garbage that can be read
	key        map[string]string
	registry   string
}

const (
	poisonPartitions = 3
	poisonEvery      = 100
	poisonMegas      = 20 // records of a megabyte in a topic, at most
)

// record is the i-th of the topic.
func (p *poisonTopic) record(i int) (r *kgo.Record, k *poison) {
	r = &kgo.Record{Topic: p.topic, Partition: int32(i % poisonPartitions)}
	if i%poisonEvery != poisonEvery/2 {
		r.Key, r.Value = p.good(i)
		return r, nil
	}
	round := i / poisonEvery / len(p.kinds)
	k = &p.kinds[i/poisonEvery%len(p.kinds)]
	r.Key, r.Value = k.key, k.value
	if len(r.Value) >= poisonMega && round >= poisonMegas {
		r.Value = r.Value[:poisonMega/100]
	}
	r.Headers = []kgo.RecordHeader{{Key: "kind", Value: []byte(k.name)}}
	return r, k
}

// expect counts what must come of the topic.
func (p *poisonTopic) expect() {
	p.want, p.kind, p.key = map[string]string{}, map[string]string{}, map[string]string{}
	var offset [poisonPartitions]int
	for i := range p.n {
		part := i % poisonPartitions
		if i%poisonEvery == poisonEvery/2 {
			r, k := p.record(i)
			switch at := fmt.Sprintf("%d|%d", part, offset[part]); {
			case k.ok:
				p.rows++
			case r.Value != nil:
				sum := md5.Sum(r.Value)
				p.want[at] = fmt.Sprintf("%d|%s", len(r.Value), hex.EncodeToString(sum[:]))
				p.kind[at], p.key[at] = k.name, string(r.Key)
			}
		}
		offset[part]++
	}
}

// produce writes the records lo to hi-1.
func (p *poisonTopic) produce(t *testing.T, kc *kgo.Client, lo, hi int) {
	var mu sync.Mutex
	var failed error
	for i := lo; i < hi; i++ {
		r, _ := p.record(i)
		kc.Produce(context.Background(), r, func(_ *kgo.Record, err error) {
			if err != nil {
				mu.Lock()
				failed = err
				mu.Unlock()
			}
		})
	}
	if err := kc.Flush(context.Background()); err != nil || failed != nil {
		t.Errorf("%s: %v, %v", p.name, err, failed)
	}
}

// setUp makes sources that skip, that send dead letters and, of JSON, that fail.
func (p *poisonTopic) setUp(c *db, k *broker) {
	for _, how := range []string{"skip", "dead", "fail"} {
		name := p.name + "_" + how
		with := fmt.Sprintf("connector = 'kafka', brokers = '%s', topic = '%s'", k.addr, p.topic)
		encode := map[string]string{"skip": "on_error = 'skip'", "dead": "dead_letter = '" + p.dead + "'", "fail": "on_error = 'fail'"}[how]
		switch how {
		case "skip":
			c.exec(fmt.Sprintf(`CREATE TABLE bad_%s (split text, "offset" text, reason text, code text, bytes bytea)`, p.name))
			with += ", bad_rows = 'table bad_" + p.name + "'"
		case "dead":
			with += ", create_topic = 'true', partitions = '2'"
		}
		if p.registry != "" {
			encode += ", schema_registry_url = '" + p.registry + "'"
		}
		c.exec(fmt.Sprintf("CREATE SOURCE %s (%s) INCLUDE KEY AS k WITH (%s) FORMAT PLAIN ENCODE %s (%s)",
			name, p.columns, with, p.encode, encode))
		c.exec(fmt.Sprintf(`CREATE MATERIALIZED VIEW v_%s AS SELECT count(*) AS n, sum(id) AS s, sum(id * 7919 %% 1000003) AS h,
			count(CASE WHEN id < 0 THEN 1 END) AS garbage, count(name) AS read
			FROM (SELECT %s AS id, %s AS name FROM %s) AS x`, name, p.id, p.second(), name))
	}
}

// second is a column beside the id that is read, so that its faults are faults.
func (p *poisonTopic) second() string {
	switch p.name {
	case "json":
		return "CASE WHEN name IS NOT NULL AND v IS NOT NULL AND ok AND at IS NOT NULL AND n IS NOT NULL THEN 1 END"
	case "csv":
		return "CASE WHEN name IS NOT NULL AND v IS NOT NULL AND ok AND at IS NOT NULL THEN 1 END"
	case "text", "bytes":
		return "CASE WHEN v IS NOT NULL THEN 1 END"
	}
	return "CASE WHEN name IS NOT NULL THEN 1 END"
}

// sums are what the views must give of the good rows and the garbage that can be read.
func (p *poisonTopic) sums() string {
	n, s, h := p.rows, -p.rows, int64(-7919*p.rows)
	for i := range p.n {
		if i%poisonEvery != poisonEvery/2 {
			n, s, h = n+1, s+i, h+int64(i)*7919%1000003
		}
	}
	return fmt.Sprintf("%d|%d|%d|%d", n, s, h, p.rows)
}

// check compares what two queries made of the topic.
func (p *poisonTopic) check(t *testing.T, c *db, k *broker) {
	for _, how := range []string{"skip", "dead"} {
		name := p.name + "_" + how
		if got, want := c.value("SELECT n, s, h, garbage FROM v_"+name), p.sums(); got != want {
			t.Errorf("%s: rows|sum|hash|garbage %s, want %s", name, got, want)
		}
		dead := 0
		if how == "dead" {
			dead = len(p.want)
		}
		want := fmt.Sprintf("%d|%d", len(p.want), dead)
		if got := c.value("SELECT bad_rows, dead_letters FROM streamsql.reads WHERE query = 'v_" + name + "'"); got != want {
			t.Errorf("%s: counts of bad rows and dead letters are %s, want %s", name, got, want)
		}
	}
	got := map[string]string{}
	reasons := map[string]string{}
	for _, r := range c.rows(fmt.Sprintf(`SELECT split, "offset", octet_length(bytes), md5(bytes), code, reason FROM bad_%s`, p.name)) {
		f := strings.SplitN(r, "|", 6)
		at := f[0] + "|" + f[1]
		if _, twice := got[at]; twice {
			t.Errorf("%s: record %s is twice among the bad rows", p.name, at)
		}
		got[at], reasons[at] = f[2]+"|"+f[3], f[4]+" "+f[5]
	}
	p.compare(t, "bad rows", got, reasons)
	got, reasons = map[string]string{}, map[string]string{}
	for _, r := range k.read(p.dead) {
		h := map[string]string{}
		for _, x := range r.Headers {
			h[x.Key] = string(x.Value)
		}
		at := h["streamsql.partition"] + "|" + h["streamsql.offset"]
		if _, twice := got[at]; twice {
			t.Errorf("%s: record %s is twice among the dead letters", p.name, at)
		}
		sum := md5.Sum(r.Value)
		got[at], reasons[at] = fmt.Sprintf("%d|%s", len(r.Value), hex.EncodeToString(sum[:])), h["streamsql.sqlstate"]+" "+h["streamsql.error"]
		if h["kind"] != p.kind[at] || string(r.Key) != p.key[at] || h["streamsql.topic"] != p.topic {
			t.Errorf("%s: letter %s has key %q and headers %q", p.name, at, r.Key, h)
		}
	}
	p.compare(t, "dead letters", got, reasons)
}

// compare compares bad records with those that there must be.
func (p *poisonTopic) compare(t *testing.T, what string, got, reasons map[string]string) {
	faults := map[string]int{}
	for at, want := range p.want {
		if got[at] != want {
			faults[fmt.Sprintf("%q has %q, want %q", p.kind[at], got[at], want)]++
		}
	}
	for at := range got {
		if _, ok := p.want[at]; !ok {
			part, off, _ := strings.Cut(at, "|")
			n, _ := strconv.Atoi(off)
			first, _ := strconv.Atoi(part)
			_, k := p.record(n*poisonPartitions + first)
			faults[fmt.Sprintf("%q is bad: %s", k.name, reasons[at])]++
		}
	}
	for f, n := range faults {
		t.Errorf("%s: %s: %d times %s", p.name, what, n, f)
	}
}

// registryOf serves one schema as number 1, of the subject of any topic.
func registryOf(t *testing.T, schema string) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/schemas/ids/") && r.URL.Path != "/schemas/ids/1" {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"error_code":40403,"message":"Schema not found"}`)
			return
		}
		fmt.Fprint(w, strings.Replace(schema, "{", `{"id":1,"version":1,`, 1))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestPoison reads topics of which each hundredth record is garbage of more than 20
// kinds, in every format, while the server is killed several times. Every good row is in
// the views, every bad record is accounted for to the byte, among the bad rows and the
// dead letters alike. STREAMSQL_POISON sets the number of records in each topic.
func TestPoison(t *testing.T) {
	n := envCount(t, "STREAMSQL_POISON", 12_000)
	k := kafka(t)
	kc, err := kgo.NewClient(kgo.SeedBrokers(k.addr), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchMaxBytes(1<<20), kgo.MaxBufferedBytes(64<<20))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(kc.Close)
	dir := t.TempDir()
	s := serve(t, dir)
	c := s.connect()
	var topics []*poisonTopic
	for _, f := range []poisoned{poisonJSON(), poisonCSV(), poisonText(), poisonRaw(), poisonAvro(), poisonProto()} {
		p := &poisonTopic{poisoned: f, topic: k.topic(poisonPartitions), n: n}
		p.dead = p.topic + "_dead"
		if f.schema != "" {
			p.registry = registryOf(t, f.schema)
		}
		p.expect()
		p.setUp(c, k)
		topics = append(topics, p)
	}
	kills := 3 + n/200_000
	began := time.Now()
	for kill := range kills + 1 {
		var wg sync.WaitGroup
		for _, p := range topics {
			wg.Go(func() { p.produce(t, kc, n*kill/(kills+1), n*(kill+1)/(kills+1)) })
		}
		if kill < kills {
			time.Sleep(time.Duration(200+rand.IntN(800)) * time.Millisecond)
			s.kill()
			s = launch(t, dir)
		}
		wg.Wait()
	}
	s.ready()
	c = s.connect()
	wantFailed(t, c, topics)
	flushed := make(chan error, 1)
	go func() {
		_, err := c.PgConn().Exec(context.Background(), "FLUSH").ReadAll()
		flushed <- err
	}()
	select {
	case <-flushed: // those that fail say so, which wantFailed has checked
	case <-time.After(10 * time.Minute):
		t.Fatal("FLUSH does not end")
	}
	took := time.Since(began)
	c = s.connect()
	for _, p := range topics {
		p.settled(c)
		p.check(t, c, k)
		t.Logf("%s: %d records, %d kinds of garbage, %d bad records, %d of the garbage can be read", p.name, n, len(p.kinds), len(p.want), p.rows)
	}
	t.Logf("%d kills, %v, peak memory of the server's last run %d MiB", kills, took.Round(time.Millisecond), peakMemory(t, s))
}

// settled waits until both queries have read all.
func (p *poisonTopic) settled(c *db) {
	tomb := 0
	for i := poisonEvery / 2; i < p.n; i += poisonEvery {
		if r, _ := p.record(i); r.Value == nil {
			tomb++
		}
	}
	for _, how := range []string{"skip", "dead"} {
		c.until(fmt.Sprintf("SELECT rows_in + bad_rows FROM streamsql.reads WHERE query = 'v_%s_%s'", p.name, how), strconv.Itoa(p.n-tomb))
	}
}

// wantFailed checks that of the queries that stop at a bad record each has stopped, with
// the place of one, and no other query has.
func wantFailed(t *testing.T, c *db, topics []*poisonTopic) {
	for _, p := range topics {
		name := "v_" + p.name + "_fail"
		c.until("SELECT state FROM streamsql.queries WHERE name = '"+name+"'", "failed")
		e := c.value("SELECT error FROM streamsql.queries WHERE name = '" + name + "'")
		var off, part int
		_, rest, _ := strings.Cut(e, "at offset ")
		if _, err := fmt.Sscanf(rest, "%d of partition %d", &off, &part); err != nil || p.want[fmt.Sprintf("%d|%d", part, off)] == "" {
			t.Errorf("%s failed with %q", name, e)
		}
	}
	others := c.rows("SELECT name, state FROM streamsql.queries WHERE state <> 'running' AND name NOT LIKE '%_fail'")
	if len(others) > 0 {
		t.Errorf("%q", others)
	}
}
