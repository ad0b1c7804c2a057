package file

import (
	"context"
	"math"
	"path/filepath"
	"slices"
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
	CheckSink:   func(_ context.Context, s *connector.Spec) error { _, err := readSink(s); return err },
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
	partition []string // columns that the paths of files say
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
		partition: o.List("partition_columns"),
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
		if p.format.Envelope != connector.Plain {
			o.Fault("ENCODE PARQUET is for FORMAT PLAIN")
		}
		for _, name := range []string{"tail", "max_record_bytes"} {
			if o.Has(name) {
				o.Fault(`option "%s" is not for ENCODE PARQUET`, name)
			}
		}
	}
	if ext := filepath.Ext(p.path); p.tail && (ext == ".gz" || ext == ".zst") {
		o.Fault(`option "tail" cannot be used with a file that is packed`)
	}
	var names []string
	for _, c := range s.Columns {
		names = append(names, c.Name)
		if c.Meta != "" {
			o.Fault(`connector "file" has no metadata "%s"`, c.Meta)
		}
	}
	for _, name := range p.partition {
		if !slices.Contains(names, name) {
			o.FaultHint(sqlerr.Suggest(name, names), `option "partition_columns": there is no column "%s"`, name)
		}
	}
	if err := o.Err(); err != nil || p.format.Encode == format.Parquet {
		return p, err
	}
	_, err := p.format.Decoder(slices.DeleteFunc(slices.Clone(s.Columns), func(c connector.Column) bool {
		return slices.Contains(p.partition, c.Name)
	}))
	return p, err
}

// sinkOptions are the options of a sink.
type sinkOptions struct {
	path   string
	format connector.Format
	// cols are all columns: the spec's, then the op column if there is one.
	cols        []connector.Column
	op          bool
	compression string
	partition   []int         // columns that directories stand for
	maxSize     int64         // of a file; MaxInt64: any
	roll        time.Duration // how long a file is written; 0: an epoch
	maxOpen     int           // descriptors of a part
	heldBytes   int           // in memory of a part
}

func readSink(s *connector.Spec) (sinkOptions, error) {
	o := connector.NewOptions(`connector "file"`, s.Options)
	p := sinkOptions{
		path: o.Required("path"),
		format: connector.ReadFormat(s, o, connector.FormatSupport{Envelopes: []string{"plain"},
			Encodes: encodes}),
		cols:      s.Columns,
		maxSize:   o.Size("max_file_size", 0),
		roll:      o.Duration("roll_interval", 0),
		maxOpen:   int(o.Int("max_open_files", 64, 1, 100_000)),
		heldBytes: heldBytes,
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
	p.partition = readPartition(o, p.cols)
	switch {
	case p.maxSize == 0:
		p.maxSize = math.MaxInt64
	case p.maxSize < minFileSize:
		o.Fault(`option "max_file_size" must be at least 4 kB`)
	}
	if err := o.Err(); err != nil {
		return p, err
	}
	if !s.AppendOnly && !p.op {
		return p, sqlerr.New(sqlerr.FeatureNotSupported,
			`sink "%s" writes files, which take inserts only, but its query changes rows`, s.Name).
			WithHint("Use output_mode = 'append', or name a column for the operation with op_column = 'op'.")
	}
	enc, err := p.encoding()
	if err == nil && p.roll > 0 && !enc.cuttable() {
		err = sqlerr.New(sqlerr.InvalidParameterValue,
			`option "roll_interval": a file of format %s is complete with its footer only, and cannot be written over epochs`,
			p.format.Encode).WithHint("Leave it out and make epochs longer, by the trigger.").AsPermanent()
	}
	return p, err
}

// minFileSize is the least max_file_size.
const minFileSize = 4 << 10

// encoding returns a new encoding of the columns that go into the files.
func (p *sinkOptions) encoding() (encoding, error) {
	var cols []connector.Column
	for i, c := range p.cols {
		if !slices.Contains(p.partition, i) {
			cols = append(cols, c)
		}
	}
	return newEncoding(&p.format, cols, p.compression)
}

func (p *sinkOptions) partitionNames() []string {
	var out []string
	for _, i := range p.partition {
		out = append(out, p.cols[i].Name)
	}
	return out
}

// numbered tells whether a part may have several files in an epoch.
func (p *sinkOptions) numbered() bool { return len(p.partition) > 0 || p.maxSize < math.MaxInt64 }
