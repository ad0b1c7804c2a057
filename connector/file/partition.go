package file

import (
	"slices"
	"strings"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

// Directories of partitions are named as Hive does it: a column's name, =, and the
// value, with what a path could not have as % and two digits.

// nullPartition stands for NULL, and for a text that is empty.
const nullPartition = "__HIVE_DEFAULT_PARTITION__"

// partitionTypes are the types whose text is a value's name in a path.
var partitionTypes = []types.ID{types.Bool, types.Int2, types.Int4, types.Int8, types.Float4, types.Float8,
	types.Numeric, types.Text, types.Varchar, types.Bpchar, types.Date, types.Time, types.Timestamp, types.Timestamptz,
	types.UUID}

// partitioner tells rows apart by their values in some columns.
type partitioner struct {
	by    []partitionColumn
	rest  []int // columns that go into the files
	dir   []byte
	text  []byte
	out   []*arrowbatch.Vec
	group map[string]*rowGroup // of this batch and earlier ones
	found []*rowGroup          // of this batch
}

type partitionColumn struct {
	at     int
	typ    types.Type
	prefix string // name=
}

// rowGroup are rows of a batch that belong to one partition.
type rowGroup struct {
	dir  string
	rows []int32
}

// newPartitioner returns a sink's, nil for one without partitions.
func newPartitioner(o *sinkOptions) *partitioner {
	if len(o.partition) == 0 {
		return nil
	}
	p := &partitioner{group: map[string]*rowGroup{}}
	for _, i := range o.partition {
		c := o.cols[i]
		p.by = append(p.by, partitionColumn{i, c.Type, string(append(escapePath(nil, []byte(c.Name)), '='))})
	}
	for i := range o.cols {
		if !slices.Contains(o.partition, i) {
			p.rest = append(p.rest, i)
		}
	}
	return p
}

// keptGroups is how many partitions are remembered from batch to batch.
const keptGroups = 4096

// split sorts the rows 0 to n-1 by partition. The groups are good until the next call.
func (p *partitioner) split(cols []*arrowbatch.Vec, n int) []*rowGroup {
	if len(p.group) > keptGroups {
		clear(p.group)
	}
	for _, g := range p.found {
		g.rows = g.rows[:0]
	}
	p.found = p.found[:0]
	for i := range n {
		p.dir = p.dir[:0]
		for k := range p.by {
			p.appendValue(cols, k, i)
		}
		g := p.group[string(p.dir)]
		if g == nil {
			g = &rowGroup{dir: string(p.dir)}
			p.group[g.dir] = g
		}
		if len(g.rows) == 0 {
			p.found = append(p.found, g)
		}
		g.rows = append(g.rows, int32(i))
	}
	return p.found
}

// appendValue appends the directory of row i's value in the k-th column.
func (p *partitioner) appendValue(cols []*arrowbatch.Vec, k, i int) {
	if k > 0 {
		p.dir = append(p.dir, '/')
	}
	c := &p.by[k]
	v := cols[c.at]
	p.dir = append(p.dir, c.prefix...)
	if v.IsNull(i) {
		p.dir = append(p.dir, nullPartition...)
		return
	}
	p.text = appendPartitionText(p.text[:0], c.typ, v, i)
	switch {
	case len(p.text) == 0:
		p.dir = append(p.dir, nullPartition...)
	case string(p.text) == nullPartition: // a text, not NULL
		p.dir = append(append(p.dir, "%5F"...), nullPartition[1:]...)
	default:
		p.dir = escapePath(p.dir, p.text)
	}
}

// data returns the columns that go into the files.
func (p *partitioner) data(cols []*arrowbatch.Vec) []*arrowbatch.Vec {
	p.out = p.out[:0]
	for _, i := range p.rest {
		p.out = append(p.out, cols[i])
	}
	return p.out
}

// appendPartitionText appends a value as partitions are named: as text, with times in
// UTC, and booleans in full.
func appendPartitionText(dst []byte, t types.Type, v *arrowbatch.Vec, i int) []byte {
	if t.ID != types.Bool {
		return types.AppendText(dst, t, v, i, nil)
	}
	if v.Bits.Get(i) {
		return append(dst, "true"...)
	}
	return append(dst, "false"...)
}

const hexDigits = "0123456789ABCDEF"

// special tells whether a byte is escaped: what Hive escapes, and what only looks
// like something else in a path.
func special(c byte) bool {
	return c < ' ' || c == 0x7f || strings.IndexByte(`"#%'*/:=?\{}[]^<>|`, c) >= 0
}

// escapePath appends a name or value as part of a path.
func escapePath(dst, s []byte) []byte {
	for _, c := range s {
		if special(c) {
			dst = append(dst, '%', hexDigits[c>>4], hexDigits[c&15])
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

// readPartition reads the option of a sink: numbers of columns.
func readPartition(o *connector.Options, cols []connector.Column) []int {
	var out []int
	names := make([]string, len(cols))
	for i, c := range cols {
		names[i] = c.Name
	}
	for _, name := range o.List("partition_by") {
		i := slices.IndexFunc(cols, func(c connector.Column) bool { return c.Name == name })
		switch {
		case i < 0:
			o.FaultHint(sqlerr.Suggest(name, names), `option "partition_by": there is no column "%s"`, name)
		case slices.Contains(out, i):
			o.Fault(`option "partition_by": column "%s" is named twice`, name)
		case !slices.Contains(partitionTypes, cols[i].Type.ID):
			o.Fault(`option "partition_by": column "%s" is of type %s, which has no text for a directory`, name, cols[i].Type)
		default:
			out = append(out, i)
		}
	}
	if len(out) > 0 && len(out) == len(cols) {
		o.Fault(`option "partition_by" names all columns: none is left for the files`)
	}
	return out
}
