package build

import (
	"context"
	"errors"
	"io"
	"strconv"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/catalog"
	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/exec"
	"github.com/streamsql/streamsql/plan/physical"
)

// listSource is a source of rows that the query itself holds: VALUES, a SELECT
// without FROM, functions in FROM. Its one split has an end but is not bounded: a
// query goes on after it when it reads something else besides. Offsets are numbers
// of rows read, and listEnd.
type listSource struct {
	ctx  context.Context
	node physical.Node
	env  *Env
}

const (
	listSplit = "list"
	listEnd   = connector.Offset("end")
)

func (b *continuousBuilder) list(n physical.Node) *exec.Fragment {
	src := &listSource{ctx: b.ctx, node: n, env: &Env{Clock: b.Clock, Eval: b.Eval}}
	return b.addSource(n, &Source{Source: src, Object: &catalog.Object{Name: catalog.Name{Name: n.Describe().Op}}}, 1)
}

func (l *listSource) Splits(context.Context) ([]connector.Split, error) {
	return []connector.Split{{ID: listSplit}}, nil
}

func (l *listSource) Latest(context.Context, []connector.Split) (map[string]connector.Offset, error) {
	return map[string]connector.Offset{listSplit: listEnd}, nil
}

func (l *listSource) Bounded() bool { return false }

func (l *listSource) Close() error { return nil }

func (l *listSource) Open(_ context.Context, _ connector.Split, from connector.Offset) (connector.Reader, error) {
	if from == listEnd {
		return &listReader{}, nil
	}
	skip := 0
	if from != "" {
		var err error
		if skip, err = strconv.Atoi(string(from)); err != nil {
			return nil, err
		}
	}
	rows, err := Select(l.ctx, l.node, l.env)
	if err != nil {
		return nil, err
	}
	return &listReader{rows: rows, skip: skip}, nil
}

// listReader reads the rows after the first skip; rows is nil at the end.
type listReader struct {
	rows *Rows
	at   int
	skip int
}

func (r *listReader) Read(ctx context.Context, _ connector.Offset) (*arrowbatch.Batch, connector.Offset, error) {
	for r.rows != nil {
		b, err := r.rows.Next(ctx)
		if errors.Is(err, io.EOF) {
			err := r.rows.Close()
			r.rows = nil
			if err != nil {
				return nil, "", err
			}
			break
		}
		if err != nil {
			return nil, "", err
		}
		first := r.at
		if r.at += b.Len; r.at <= r.skip {
			b.Release()
			continue
		}
		if first < r.skip {
			b = tail(b, r.skip-first)
		}
		return b, connector.Offset(strconv.Itoa(r.at)), nil
	}
	return nil, listEnd, connector.ErrEnd
}

// tail returns the rows of b from n on and releases b.
func tail(b *arrowbatch.Batch, n int) *arrowbatch.Batch {
	defer b.Release()
	var keep []int32
	for i := n; i < b.Len; i++ {
		keep = append(keep, int32(i))
	}
	return b.Take(keep)
}

func (r *listReader) Close() error {
	if r.rows == nil {
		return nil
	}
	return r.rows.Close()
}
