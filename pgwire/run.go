package pgwire

import (
	"context"
	"errors"
	"io"

	"github.com/jackc/pgproto3/v2"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// runPortal sends up to maxRows rows of a portal (0: all) and tells whether it
// came to its end.
func (c *conn) runPortal(ctx context.Context, p *NamedPortal, maxRows int) (sent int64, done bool, err error) {
	tr := p.Portal.Traits()
	switch {
	case tr.CopyIn != nil:
		return c.copyIn(ctx, p.Portal, tr.CopyIn)
	case tr.CopyOut != nil:
		return c.copyOut(ctx, p.Portal, tr)
	}
	enc := newRowEncoder(p.Portal.Columns(), p.Formats, c.sess.Env())
	return c.pump(ctx, p.Portal, tr.Live, max(maxRows, 0), enc.appendRows)
}

// pump moves the rows of a portal into messages. It waits for the client where
// the client is slow: nothing is kept but one buffer.
func (c *conn) pump(ctx context.Context, p Portal, live bool, maxRows int,
	appendRows rowAppender,
) (sent int64, done bool, err error) {
	if live {
		if c.out.flush() != nil { // what describes the rows goes ahead of them
			return 0, false, errGone
		}
		if err := c.setLive(true); err != nil {
			return 0, false, err
		}
		defer func() { _ = c.setLive(false) }() // which has no error
	}
	for {
		left := 0
		if maxRows > 0 {
			if left = maxRows - int(sent); left == 0 {
				return sent, false, nil
			}
		}
		if ctx.Err() != nil {
			return sent, false, context.Cause(ctx)
		}
		b, err := p.Next(ctx, left)
		if errors.Is(err, io.EOF) {
			return sent, true, nil
		}
		if err != nil {
			return sent, false, err
		}
		if left > 0 && b.Len > left {
			return sent, false, sqlerr.Internal("portal returned %d rows, at most %d were asked for", b.Len, left)
		}
		sent += int64(b.Len)
		err = c.sendRows(b, live, appendRows)
		b.Release()
		if err != nil {
			return sent, false, err
		}
	}
}

// rowAppender appends messages of the rows of b, beginning with from, until dst
// has flushBytes, and returns the first row that is left. On an error dst ends
// with the last whole message.
type rowAppender func(dst []byte, b *arrowbatch.Batch, from int) (_ []byte, next int, err error)

func (c *conn) sendRows(b *arrowbatch.Batch, live bool, appendRows rowAppender) error {
	for next := 0; next < b.Len; {
		c.out.room()
		var err error
		if c.out.buf, next, err = appendRows(c.out.buf, b, next); err != nil {
			return err
		}
		if c.out.flushFull() != nil {
			return errGone
		}
	}
	if live && c.out.flush() != nil {
		return errGone
	}
	return nil
}

func copyFormats(f *CopyFormat) (overall byte, columns []uint16) {
	columns = make([]uint16, f.Columns)
	if f.Binary {
		overall = 1
		for i := range columns {
			columns[i] = 1
		}
	}
	return overall, columns
}

// copyOut sends the rows of COPY … TO STDOUT.
func (c *conn) copyOut(ctx context.Context, p Portal, tr Traits) (sent int64, done bool, err error) {
	overall, columns := copyFormats(tr.CopyOut)
	c.out.send(&pgproto3.CopyOutResponse{OverallFormat: overall, ColumnFormatCodes: columns})
	sent, done, err = c.pump(ctx, p, tr.Live, 0, appendCopyData)
	if err == nil {
		c.out.send(&pgproto3.CopyDone{})
	}
	return sent, done, err
}

// copyIn takes in the data of COPY … FROM STDIN.
func (c *conn) copyIn(ctx context.Context, p Portal, f *CopyFormat) (sent int64, done bool, err error) {
	recv, ok := p.(CopyReceiver)
	if !ok {
		return 0, false, sqlerr.Internal("portal of COPY FROM STDIN takes no data")
	}
	c.watch.disarm() // from here on this goroutine reads
	overall, columns := copyFormats(f)
	c.out.send(&pgproto3.CopyInResponse{OverallFormat: overall, ColumnFormatCodes: columns})
	if err := c.takeCopy(ctx, recv); err != nil {
		return 0, false, err
	}
	return c.pump(ctx, p, false, 0, func(dst []byte, _ *arrowbatch.Batch, _ int) ([]byte, int, error) {
		return dst, 0, sqlerr.Internal("COPY FROM STDIN returned rows")
	})
}

func (c *conn) takeCopy(ctx context.Context, recv CopyReceiver) error {
	c.setCopying(ctx)
	defer c.setCopied()
	unhook := context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.copying == ctx {
			c.ring()
		}
	})
	defer unhook()
	for {
		msg, err := c.receive()
		if err != nil {
			return err
		}
		switch m := msg.(type) {
		case *pgproto3.CopyData:
			if err := recv.WriteCopy(ctx, m.Data); err != nil {
				return err
			}
		case *pgproto3.CopyDone:
			return nil
		case *pgproto3.CopyFail:
			return sqlerr.New(sqlerr.QueryCanceled, "COPY from stdin failed: %s", m.Message)
		case *pgproto3.Flush, *pgproto3.Sync: // sent by clients that do not look
		case *pgproto3.Terminate:
			return errGone
		default:
			return &fatalError{sqlerr.New(sqlerr.ProtocolViolation,
				"unexpected message type 0x%02X during COPY from stdin", c.typ)}
		}
	}
}

func (c *conn) setCopying(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.copying = ctx
}

func (c *conn) setCopied() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.copying = nil
}
