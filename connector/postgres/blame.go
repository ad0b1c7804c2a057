package postgres

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/sql/types"
)

// rowError is an error of the server with the row that it is about.
type rowError struct {
	*pgconn.PgError
	row string
}

func (e *rowError) Unwrap() error { return e.PgError }

var copyLine = regexp.MustCompile(`^COPY .*, line (\d+)`)

// blame finds the row of a piece that the server refused, where the server does not
// say it: by the line of the copy, or by trying halves of the piece.
func (s *sink) blame(ctx context.Context, c *session, p *piece, err error) error {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || retriable(err) || pg.Detail != "" && !strings.HasPrefix(pg.Code, "22") {
		return err
	}
	at := p.starts()
	n := -1
	if m := copyLine.FindStringSubmatch(pg.Where); m != nil {
		n, _ = strconv.Atoi(m[1]) // digits
		n--
	} else if strings.HasPrefix(pg.Code, "22") && !c.t.direct {
		n = sort.Search(len(at)-1, func(i int) bool { return s.fails(ctx, c, p, at[i+1]) })
	}
	if n < 0 || n >= len(at)-1 {
		return err
	}
	return &rowError{pg, s.rowOf(p.tuples[at[n]:at[n+1]])}
}

// fails tells whether the rows of a piece up to a byte are refused.
func (s *sink) fails(ctx context.Context, c *session, p *piece, end int) bool {
	if run(ctx, c.pg, "ROLLBACK; "+begin) != nil {
		return true
	}
	part := *p
	part.tuples = p.tuples[:end]
	return s.tryPiece(ctx, c, &part, false) != nil
}

// tryPiece copies the rows of one piece and, where there is a stage, merges them from
// there; more: another one follows in this transaction.
func (s *sink) tryPiece(ctx context.Context, c *session, p *piece, more bool) error {
	data := io.MultiReader(bytes.NewReader(copyHeader), bytes.NewReader(p.tuples), bytes.NewReader(copyTrailer))
	if _, err := c.pg.CopyFrom(ctx, data, c.t.copyRows); err != nil {
		return err
	}
	if c.t.direct {
		return nil
	}
	sql := ""
	if p.gone > 0 {
		sql += c.t.removeKeys + "; "
	}
	if p.goneNulls > 0 {
		sql += c.t.removeNulls + "; "
	}
	if p.rows > p.gone {
		sql += c.t.merge + "; "
	}
	if more {
		sql += "TRUNCATE " + stage
	}
	return run(ctx, c.pg, sql)
}

// rowOf shows a tuple as a row of the sink.
func (s *sink) rowOf(tuple []byte) string {
	be := binary.BigEndian
	b := &arrowbatch.Batch{Len: 1}
	defer b.Release()
	tuple = tuple[2:]
	if s.cfg.upsert {
		tuple = tuple[5:]
	}
	spec := *s.spec
	spec.Columns = append(spec.Columns[:0:0], spec.Columns...)
	for i := range spec.Columns {
		t := sentAs(spec.Columns[i].Type)
		spec.Columns[i].Type = t
		v := arrowbatch.NewVec(t.Shape(), 0)
		b.Cols = append(b.Cols, v)
		size := be.Uint32(tuple)
		if tuple = tuple[4:]; size == math.MaxUint32 {
			v.AppendNull()
			continue
		}
		if err := types.ParseBinary(t, tuple[:size], v); err != nil {
			return ""
		}
		tuple = tuple[size:]
	}
	return newEncoder(&spec, nil).row(b, 0)
}
