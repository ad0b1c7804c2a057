package pgwire

import (
	"context"
	"unsafe"

	"github.com/jackc/pgproto3/v2"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// simpleQuery serves a Query message: its statements are one implicit
// transaction, the first error ends it, and one ReadyForQuery follows.
func (c *conn) simpleQuery(sql string) error {
	names := c.sess.Names()
	names.DropStatement("")
	names.DropPortal("")
	src, err := c.runQuery(sql)
	if err != nil {
		if err := c.fail(err, src); err != nil {
			return err
		}
	}
	return c.ready()
}

func (c *conn) runQuery(sql string) (source, error) {
	whole := source{query: sql}
	parsed, err := c.split(sql)
	if err != nil {
		return whole, err
	}
	if len(parsed) == 0 {
		c.out.send(&pgproto3.EmptyQueryResponse{})
		return whole, c.commit()
	}
	for i, p := range parsed {
		if err := c.runStatement(p, sql, i == len(parsed)-1); err != nil {
			return source{query: sql, off: p.Off}, err
		}
	}
	return whole, nil
}

// split parses a query string.
func (c *conn) split(sql string) ([]Parsed, error) {
	if err := checkUTF8(unsafe.Slice(unsafe.StringData(sql), len(sql))); err != nil {
		return nil, err
	}
	return c.sess.Split(sql)
}

// commit ends the implicit transaction.
func (c *conn) commit() error {
	ctx := c.begin()
	defer c.end()
	return reason(ctx, c.sess.Sync(ctx))
}

// runStatement runs one statement of a query string. The last one reports its
// end only when the transaction has been committed.
func (c *conn) runStatement(p Parsed, sql string, last bool) error {
	c.since = zeroTime
	ctx := c.begin()
	defer c.end()
	tag, err := c.bindAndRun(ctx, p, sql)
	if err == nil && last {
		err = c.sess.Sync(ctx)
	}
	if err != nil {
		return reason(ctx, err)
	}
	c.complete(tag)
	return c.out.flushFull()
}

func (c *conn) bindAndRun(ctx context.Context, p Parsed, sql string) (tag string, err error) {
	stmt, err := c.sess.Prepare(ctx, p, nil)
	if err != nil {
		return "", err
	}
	if len(stmt.Params()) > 0 {
		return "", sqlerr.New(sqlerr.UndefinedParameter, "there is no parameter $1")
	}
	portal, err := stmt.Bind(ctx, nil)
	if err != nil {
		return "", err
	}
	np := &NamedPortal{Portal: portal, Text: p.Text, query: sql, off: p.Off}
	defer np.drop()
	if cols := portal.Columns(); cols != nil && portal.Traits().CopyOut == nil {
		if err := c.describeRow(cols, nil); err != nil {
			return "", err
		}
	}
	sent, _, err := c.runPortal(ctx, np, 0)
	if err != nil {
		return "", err
	}
	return portal.Tag(sent), nil
}

// complete sends CommandComplete.
func (c *conn) complete(tag string) {
	c.out.send(&pgproto3.CommandComplete{CommandTag: []byte(clean(tag))})
}
