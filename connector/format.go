package connector

import (
	"net/url"
	"slices"
	"strings"

	"github.com/streamsql/streamsql/format"
)

// Format says how the records of a source or sink are encoded.
type Format struct {
	// Envelope is FORMAT: "plain" where the statement has none.
	Envelope string
	// Encode is ENCODE, one of package format's names.
	Encode string
	// OnError is what happens to a record that cannot be decoded: OnErrorFail,
	// OnErrorSkip or OnErrorDeadLetter, as the connector allows. "" for a sink.
	OnError string
	// DeadLetter is where such a record goes with OnErrorDeadLetter.
	DeadLetter string
	Options    format.Options
	// Registry is where schemas are kept, KeyRegistry where those of keys are; nil:
	// nowhere.
	Registry, KeyRegistry *SchemaRegistry
}

// What becomes of a record that cannot be decoded.
const (
	OnErrorFail       = "fail"        // it ends the query
	OnErrorSkip       = "skip"        // it is counted and kept
	OnErrorDeadLetter = "dead_letter" // and sent to where option dead_letter says
)

// SchemaRegistry says how a registry of schemas is reached.
type SchemaRegistry struct {
	// URLs are those of one registry's servers, without a slash at the end.
	URLs           []string
	User, Password string
	// Subject is the name that the schema of the records has; "": the connector's
	// choice.
	Subject string
}

// FormatSupport says what a connector can do; the first of each list is the
// default. OnError is empty for a sink.
type FormatSupport struct {
	Envelopes, Encodes, OnError []string
}

// ReadFormat reads FORMAT … ENCODE … (…) of the spec. What the clause does not
// say may be said in WITH, as in format = 'csv', delimiter = ';'; where both say
// something they must agree. Faults go to o.
func ReadFormat(s *Spec, o *Options, can FormatSupport) Format {
	f := Format{Envelope: s.Format, Encode: s.Encode}
	if f.Envelope == "" {
		f.Envelope = can.Envelopes[0]
	} else if !slices.Contains(can.Envelopes, f.Envelope) {
		o.Fault("%s does not support FORMAT %s; it supports: %s", o.owner, strings.ToUpper(f.Envelope),
			strings.ToUpper(strings.Join(can.Envelopes, ", ")))
	}
	with := o.Enum("format", "", can.Encodes...)
	switch {
	case f.Encode == "" && with != "":
		f.Encode = with
	case f.Encode == "":
		f.Encode = can.Encodes[0]
	case !slices.Contains(can.Encodes, f.Encode):
		o.Fault("%s does not support ENCODE %s; it supports: %s", o.owner, strings.ToUpper(f.Encode),
			strings.ToUpper(strings.Join(can.Encodes, ", ")))
	case with != "" && with != f.Encode:
		o.Fault(`option "format" is "%s", but the statement says ENCODE %s`, with, strings.ToUpper(f.Encode))
	}
	inner, keys := keyOptions(s.FormatOptions)
	r := formatReader{in: NewOptions("ENCODE "+strings.ToUpper(f.Encode), inner), with: o}
	r.read(&f, can)
	o.faults = append(o.faults, r.in.allFaults()...)
	if len(can.OnError) > 0 {
		readChanges(&f, s, o, keys)
	} else if keys != nil {
		o.Fault("%s does not take KEY ENCODE: the key of a sink is a JSON object", o.owner)
	}
	return f
}

// formatReader reads an option from the clause or from WITH.
type formatReader struct{ in, with *Options }

// of returns the options that the name is given in.
func (r formatReader) of(name string) *Options {
	inner, isInner := r.in.get(name)
	outer, isOuter := r.with.get(name)
	if isInner && isOuter && inner != outer {
		r.with.Fault(`option "%s" is given twice: "%s" in WITH and "%s" in ENCODE`, name, outer, inner)
	}
	if isInner || !isOuter {
		return r.in
	}
	return r.with
}

func (r formatReader) read(f *Format, can FormatSupport) {
	f.Options.CSV = format.DefaultCSV
	if len(can.OnError) > 0 {
		r.readOnError(f, can)
	}
	switch f.Encode {
	case format.JSON:
		if len(can.OnError) > 0 {
			f.Options.TimestampFormat = r.of("timestamp_format").Enum("timestamp_format", "",
				"epoch_s", "epoch_ms", "epoch_us")
		}
	case format.CSV:
		c := &f.Options.CSV
		c.Delimiter = r.char("delimiter", c.Delimiter)
		c.Quote = r.char("quote", c.Quote)
		c.Escape = r.char("escape", c.Quote)
		c.Null = r.of("null").String("null", c.Null)
		c.Header = r.of("header").Bool("header", c.Header)
	case format.Parquet:
		if len(can.OnError) == 0 {
			q := &f.Options.Parquet
			q.Compression = r.of("compression").Enum("compression", format.ParquetCompressions[0], format.ParquetCompressions...)
			q.RowGroup = int(r.of("row_group_size").Int("row_group_size", format.ParquetRowGroup, 1, 10_000_000))
		}
	case format.Avro, format.Proto:
		r.readSchema(f, len(can.OnError) > 0)
	}
}

// readOnError reads what becomes of records that cannot be decoded. A topic for them
// alone says it, too.
func (r formatReader) readOnError(f *Format, can FormatSupport) {
	o := r.of("on_error")
	f.OnError = o.Enum("on_error", can.OnError[0], can.OnError...)
	if !slices.Contains(can.OnError, OnErrorDeadLetter) {
		return
	}
	to := r.of("dead_letter")
	f.DeadLetter = to.String("dead_letter", "")
	switch named := to.Has("dead_letter"); {
	case named && f.DeadLetter == "":
		to.Fault(`option "dead_letter" names nothing`)
	case named && !o.Has("on_error"):
		f.OnError = OnErrorDeadLetter
	case named && f.OnError != OnErrorDeadLetter:
		o.Fault(`option "dead_letter" contradicts on_error = '%s'`, f.OnError)
	case !named && f.OnError == OnErrorDeadLetter:
		o.Fault(`on_error = 'dead_letter' needs option "dead_letter"`)
	}
}

// readSchema reads where the schemas of records are: in a registry, or for a source
// one schema in the statement itself.
func (r formatReader) readSchema(f *Format, source bool) {
	o := r.of("schema_registry_url")
	g := &SchemaRegistry{User: r.of("schema_registry_username").String("schema_registry_username", ""),
		Password: r.of("schema_registry_password").String("schema_registry_password", ""),
		Subject:  r.of("schema_registry_subject").String("schema_registry_subject", "")}
	for _, raw := range o.List("schema_registry_url") {
		u, err := url.Parse(raw)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
			o.bad("schema_registry_url", raw, "An address such as http://host:8081 is expected.")
			continue
		}
		g.URLs = append(g.URLs, strings.TrimRight(raw, "/"))
	}
	text := ""
	if source {
		text = r.of("schema").String("schema", "")
		if f.Encode == format.Proto {
			f.Options.SchemaName = r.of("message").String("message", "")
		}
	} else {
		f.Options.SchemaName = r.of("schema_name").String("schema_name", "")
	}
	switch given := o.Has("schema_registry_url"); {
	case given && text != "":
		o.Fault(`options "schema_registry_url" and "schema" exclude each other`)
	case given:
		f.Registry = g
	case text != "":
		f.Options.Schema = &format.Schema{Type: strings.ToUpper(f.Encode), Text: text}
	case source:
		o.Fault(`ENCODE %s needs option "schema_registry_url" or "schema"`, strings.ToUpper(f.Encode))
	default:
		o.Fault(`ENCODE %s needs option "schema_registry_url"`, strings.ToUpper(f.Encode))
	}
	if source && text == "" && f.Options.SchemaName != "" {
		o.Fault(`option "message" needs option "schema": with a registry each record tells its message`)
	}
	if !o.Has("schema_registry_url") && (g.User != "" || g.Password != "" || g.Subject != "") {
		o.Fault(`options of a schema registry are given without "schema_registry_url"`)
	}
}

// char reads a one-byte character; "\t" and "tab" are a tab.
func (r formatReader) char(name string, def byte) byte {
	o := r.of(name)
	v := o.String(name, string(rune(def)))
	switch {
	case v == `\t` || strings.EqualFold(v, "tab"):
		return '\t'
	case len(v) != 1:
		o.bad(name, v, "One character of one byte is expected.")
		return def
	}
	return v[0]
}

// FormatColumns returns the columns as package format takes them.
func FormatColumns(cols []Column) []format.Column {
	out := make([]format.Column, len(cols))
	for i, c := range cols {
		out[i] = format.Column(c)
	}
	return out
}

// Decoder returns a new decoder of the columns.
func (f *Format) Decoder(cols []Column) (*format.Decoder, error) {
	return format.New(FormatColumns(cols), f.Encode, f.Options)
}

// Encoder returns a new encoder of the columns.
func (f *Format) Encoder(cols []Column) (*format.Encoder, error) {
	return format.NewEncoder(FormatColumns(cols), f.Encode, f.Options)
}
