package kafka

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"math"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/format"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

const owner = `connector "kafka"`

// connection is how brokers are reached.
type connection struct {
	brokers []string
	tls     *tls.Config
	sasl    sasl.Mechanism
}

// readConnection reads the options that sources and sinks share. Files are read
// only with load: CREATE checks what is written, not what is there.
func readConnection(o *connector.Options, load bool) (*connection, string) {
	c := &connection{brokers: o.List("brokers")}
	if o.Required("brokers") != "" && len(c.brokers) == 0 {
		o.Fault(`option "brokers" names no broker`)
	}
	for i, b := range c.brokers {
		if _, _, err := net.SplitHostPort(b); err != nil {
			if strings.Contains(b, ":") && !strings.HasPrefix(b, "[") {
				o.Fault(`invalid value for option "brokers": "%s"`, b)
				continue
			}
			c.brokers[i] = net.JoinHostPort(strings.Trim(b, "[]"), "9092")
		}
	}
	topic := o.Required("topic")
	c.readTLS(o, load)
	mechanism := o.Enum("sasl_mechanism", "", "plain", "scram-sha-256", "scram-sha-512")
	user, password := o.String("sasl_username", ""), o.String("sasl_password", "")
	switch {
	case mechanism == "" && (user != "" || password != ""):
		o.Fault(`option "sasl_username" needs option "sasl_mechanism"`)
	case mechanism != "" && user == "":
		o.Fault(`option "sasl_mechanism" needs option "sasl_username"`)
	case mechanism == "plain":
		c.sasl = plain.Mechanism{Username: user, Password: password}
	case mechanism != "":
		c.sasl = newSCRAM(mechanism, user, password)
	}
	return c, topic
}

func (c *connection) readTLS(o *connector.Options, load bool) {
	on := o.Bool("tls", false)
	ca, cert, key := o.String("tls_ca_file", ""), o.String("tls_cert_file", ""), o.String("tls_key_file", "")
	name, skip := o.String("tls_server_name", ""), o.Bool("tls_skip_verify", false)
	if !on {
		if ca != "" || cert != "" || key != "" || name != "" || skip {
			o.Fault(`options of TLS are given, but "tls" is not on`)
		}
		return
	}
	if (cert == "") != (key == "") {
		o.Fault(`options "tls_cert_file" and "tls_key_file" need each other`)
	}
	c.tls = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: name, InsecureSkipVerify: skip}
	if !load {
		return
	}
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			o.Fault(`could not read option "tls_ca_file": %v`, err)
		}
		c.tls.RootCAs = x509.NewCertPool()
		if err == nil && !c.tls.RootCAs.AppendCertsFromPEM(pem) {
			o.Fault(`option "tls_ca_file": file "%s" holds no certificate`, ca)
		}
	}
	if cert != "" && key != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			o.Fault(`could not load options "tls_cert_file" and "tls_key_file": %v`, err)
		}
		c.tls.Certificates = []tls.Certificate{pair}
	}
}

// sourceConfig is what a source's options say.
type sourceConfig struct {
	conn           *connection
	topic          string
	start          position
	end            *position // nil: the source never ends
	continueOnLoss bool
	bufferBytes    int64
	fetchBytes     int64 // of all partitions of a broker in one fetch
	partBytes      int64 // of one partition in one fetch
	batchBytes     int64 // that one record batch may unpack to
	maxOffsets     int64 // of a micro-batch; 0: any number
	minOffsets     int64 // that a micro-batch waits for, up to maxDelay; 0: for none
	maxDelay       time.Duration

	format  connector.Format
	letters *sinkConfig // of the topic of dead letters; nil: there is none

	// Fixed, but for tests.
	missingGrace, refreshEvery, splitsEvery time.Duration
}

// messageEncodings are the encodings that records can have.
var messageEncodings = []string{format.JSON, format.CSV, format.Text, format.Bytes, format.Avro, format.Proto}

func readSource(s *connector.Spec, load bool) (*sourceConfig, error) {
	o := connector.NewOptions(owner, s.Options)
	c := &sourceConfig{missingGrace: missingGrace, refreshEvery: refreshEvery, splitsEvery: splitsEvery}
	c.format = readFormat(s, o, connector.FormatSupport{
		Envelopes: []string{connector.Plain, connector.Upsert, connector.Debezium}, Encodes: messageEncodings,
		OnError: []string{connector.OnErrorFail, connector.OnErrorSkip, connector.OnErrorDeadLetter}})
	c.conn, c.topic = readConnection(o, load)
	c.readLetters(o)
	c.start = readPosition(o, "starting_offsets", "earliest")
	if o.Has("ending_offsets") {
		end := readPosition(o, "ending_offsets", "latest")
		if end.at == atEarliest {
			o.Fault(`option "ending_offsets" cannot be 'earliest'`)
		}
		c.end = &end
	}
	c.continueOnLoss = o.Enum("on_data_loss", "fail", "fail", "continue") == "continue"
	c.bufferBytes = sizeBetween(o, "buffer_memory", 64<<20, 1<<20, 16<<30)
	c.fetchBytes = sizeBetween(o, "fetch_max_bytes", 32<<20, 1<<10, maxAnswer/2)
	c.partBytes = sizeBetween(o, "fetch_partition_max_bytes", 4<<20, 1<<10, maxAnswer/2)
	c.batchBytes = sizeBetween(o, "max_batch_bytes", maxUnpacked, 1<<10, 2<<30)
	c.readLimits(o)
	return c, o.Err()
}

// maxTriggerDelay is how long records wait for others to make up min_offsets_per_trigger.
const maxTriggerDelay = 15 * time.Minute

func (c *sourceConfig) readLimits(o *connector.Options) {
	c.maxOffsets = o.Int("max_offsets_per_trigger", 0, 1, math.MaxInt64)
	c.minOffsets = o.Int("min_offsets_per_trigger", 0, 1, math.MaxInt64)
	if c.maxOffsets > 0 && c.minOffsets > c.maxOffsets {
		o.Fault(`option "min_offsets_per_trigger" must not be greater than option "max_offsets_per_trigger"`)
	}
	delayed := o.Has("max_trigger_delay")
	if c.maxDelay = o.Duration("max_trigger_delay", maxTriggerDelay); delayed && c.minOffsets == 0 {
		o.Fault(`option "max_trigger_delay" needs option "min_offsets_per_trigger"`)
	}
}

// readFormat reads FORMAT and ENCODE. A record is a line of CSV: there is no first
// one to be a header.
func readFormat(s *connector.Spec, o *connector.Options, can connector.FormatSupport) connector.Format {
	f := connector.ReadFormat(s, o, can)
	_, inner := s.FormatOptions["header"]
	if _, outer := s.Options["header"]; f.Encode == format.CSV && (inner || outer) && f.Options.CSV.Header {
		o.Fault(`records have no header line: option "header" must be false`)
	}
	f.Options.CSV.Header = false
	return f
}

func sizeBetween(o *connector.Options, name string, def, lo, hi int64) int64 {
	n := o.Size(name, def)
	if n < lo || n > hi {
		o.Fault(`%d is outside the valid range for option "%s" (%d .. %d)`, n, name, lo, hi)
		return def
	}
	return n
}

// position is where in each partition reading begins or ends.
type position struct {
	// at is atEarliest, atLatest or a time in milliseconds, for the partitions that
	// each does not name.
	at   int64
	each map[int32]place
}

// place is where one partition begins or ends: at offset, or where that is negative
// at atEarliest, atLatest or a time in milliseconds.
type place struct{ at, offset int64 }

// readPosition reads 'earliest', 'latest', 'timestamp:…' or an object that has for
// partitions one of these or an offset, in which -1 is the latest and -2 the earliest.
func readPosition(o *connector.Options, name, def string) position {
	v := strings.TrimSpace(o.String(name, def))
	switch strings.ToLower(v) {
	case "earliest":
		return position{at: atEarliest}
	case "latest":
		return position{at: atLatest}
	}
	p := position{at: atEarliest}
	if name == "ending_offsets" {
		p.at = atLatest
	}
	if rest, ok := strings.CutPrefix(strings.ToLower(v), "timestamp:"); ok {
		ms, ok := parseTime(rest)
		if !ok {
			o.Fault(`invalid value for option "%s": "%s" is no time since 1970`, name, rest)
		}
		p.at = ms
		return p
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal([]byte(v), &raw); err != nil || raw == nil {
		o.Fault(`invalid value for option "%s": "%s"; valid are 'earliest', 'latest', `+
			`'timestamp:2026-01-31 12:00:00+00' and offsets such as '{"0": 12, "1": "latest"}'`, name, v)
		return p
	}
	p.each = map[int32]place{}
	for k, text := range raw {
		n, err := strconv.ParseInt(k, 10, 32)
		at, ok := readPlace(text)
		if err != nil || n < 0 || !ok {
			o.Fault(`invalid value for option "%s": partition "%s" with offset %s`, name, k, text)
			continue
		}
		p.each[int32(n)] = at
	}
	return p
}

// readPlace reads what an object says of one partition.
func readPlace(text json.RawMessage) (p place, ok bool) {
	var off int64
	if json.Unmarshal(text, &off) == nil && text[0] != 'n' {
		if off < 0 {
			return place{off, -1}, off == atEarliest || off == atLatest
		}
		return place{0, off}, true
	}
	var word string
	if json.Unmarshal(text, &word) != nil {
		return p, false
	}
	switch word = strings.ToLower(strings.TrimSpace(word)); word {
	case "earliest":
		return place{atEarliest, -1}, true
	case "latest":
		return place{atLatest, -1}, true
	}
	rest, ok := strings.CutPrefix(word, "timestamp:")
	if !ok {
		return p, false
	}
	ms, ok := parseTime(rest)
	return place{ms, -1}, ok
}

// parseTime reads a time stamp, or milliseconds since 1970, not before then: the
// broker takes negative numbers for the ends.
func parseTime(s string) (ms int64, ok bool) {
	s = strings.TrimSpace(s)
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, n >= 0
	}
	v := arrowbatch.NewVec(types.TTimestamptz.Shape(), 0)
	defer v.Release()
	if err := types.ParseString(types.TTimestamptz, s, v, nil); err != nil {
		return 0, false
	}
	// The first record at or after the time: a broken millisecond is rounded up.
	us := v.I64[0]
	return (us + 999) / 1000, us >= 0 && us < 1<<62
}

// offsetText prints an offset.
func offsetText(n int64) connector.Offset { return connector.Offset(strconv.FormatInt(n, 10)) }

func parseOffset(o connector.Offset) (int64, error) {
	n, err := strconv.ParseInt(string(o), 10, 64)
	if err != nil || n < 0 {
		return 0, sqlerr.Internal("kafka: bad offset %q", string(o))
	}
	return n, nil
}
