package file

import (
	"time"

	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/format"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// Factory makes sources and sinks of files.
var Factory = connector.Factory{
	Source:      openSource,
	Sink:        openSink,
	CheckSource: func(s *connector.Spec) error { _, err := readSource(s); return err },
	CheckSink:   func(s *connector.Spec) error { _, err := readSink(s); return err },
}

// sourceOptions are the options of a source.
type sourceOptions struct {
	path      string
	format    connector.Format
	tail      bool
	watch     bool // for a directory or pattern
	byTime    bool
	splits    int
	maxFiles  int64 // a trigger; 0: all
	poll      time.Duration
	batchRows int
	batchSize int
	maxRecord int
}

var encodes = []string{format.JSON, format.CSV, format.Text, format.Parquet}

func readSource(s *connector.Spec) (sourceOptions, error) {
	o := connector.NewOptions(`connector "file"`, s.Options)
	p := sourceOptions{
		path: o.Required("path"),
		format: connector.ReadFormat(s, o, connector.FormatSupport{Envelopes: []string{connector.Plain, connector.Debezium},
			Encodes: encodes, OnError: []string{"fail", "skip"}}),
		tail:      o.Bool("tail", false),
		watch:     o.Bool("watch", true),
		byTime:    o.Enum("order", "name", "name", "mtime") == "mtime",
		splits:    int(o.Int("splits", 1, 1, 256)),
		maxFiles:  o.Int("max_files_per_trigger", 0, 0, 1_000_000),
		poll:      o.Duration("poll_interval", 200*time.Millisecond),
		batchRows: int(o.Int("batch_rows", 8192, 1, 1_000_000)),
		batchSize: int(o.Size("batch_bytes", 1<<20)),
		maxRecord: int(o.Size("max_record_bytes", 16<<20)),
	}
	if p.poll < time.Millisecond || p.poll > time.Second {
		o.Fault(`option "poll_interval" must be from 1 ms to 1 s`)
	}
	if p.batchSize < 4096 || p.batchSize > 64<<20 {
		o.Fault(`option "batch_bytes" must be from 4 kB to 64 MB`)
	}
	if p.maxRecord < 1024 || p.maxRecord > 256<<20 {
		o.Fault(`option "max_record_bytes" must be from 1 kB to 256 MB`)
	}
	if p.tail && p.splits > 1 {
		o.Fault(`option "tail" reads a single file: "splits" must be 1`)
	}
	if p.format.Encode == format.Parquet {
		for _, name := range []string{"tail", "max_record_bytes"} {
			if o.Has(name) {
				o.Fault(`option "%s" is not for ENCODE PARQUET`, name)
			}
		}
	}
	for _, c := range s.Columns {
		if c.Meta != "" {
			o.Fault(`connector "file" has no metadata "%s"`, c.Meta)
		}
	}
	if err := o.Err(); err != nil || p.format.Encode == format.Parquet {
		return p, err
	}
	_, err := p.format.Decoder(s.Columns)
	return p, err
}

// sinkOptions are the options of a sink.
type sinkOptions struct {
	path   string
	format connector.Format
	// cols are the columns written: the spec's, then the op column if there is one.
	cols        []connector.Column
	op          bool
	compression string
}

func readSink(s *connector.Spec) (sinkOptions, error) {
	o := connector.NewOptions(`connector "file"`, s.Options)
	p := sinkOptions{
		path: o.Required("path"),
		format: connector.ReadFormat(s, o, connector.FormatSupport{Envelopes: []string{"plain"},
			Encodes: encodes}),
		cols: s.Columns,
	}
	if p.format.Encode != format.Parquet { // it compresses within the file
		p.compression = o.Enum("compression", noCompression, noCompression, gzipped, zstandard)
	}
	if name := o.String("op_column", ""); name != "" {
		for _, c := range s.Columns {
			if c.Name == name {
				o.Fault(`option "op_column": column "%s" exists already`, name)
			}
		}
		p.op = true
		p.cols = append(p.cols[:len(p.cols):len(p.cols)], connector.Column{Name: name, Type: types.TText})
	}
	if err := o.Err(); err != nil {
		return p, err
	}
	if !s.AppendOnly && !p.op {
		return p, sqlerr.New(sqlerr.FeatureNotSupported,
			`sink "%s" writes files, which take inserts only, but its query changes rows`, s.Name).
			WithHint("Use output_mode = 'append', or name a column for the operation with op_column = 'op'.")
	}
	_, err := newEncoding(&p.format, p.cols, p.compression)
	return p, err
}
