package pgwire

import (
	"context"
	"math"
	"time"

	"github.com/jackc/pgproto3/v2"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/sql/types"
)

var zeroTime time.Time

// extended ends a message of the extended protocol: after an error everything
// is skipped until Sync.
func (c *conn) extended(src source, err error) error {
	if err != nil {
		c.skip = true
		return c.fail(err, src)
	}
	return c.out.flushFull()
}

// sync ends the implicit transaction and the skipping.
func (c *conn) sync() error {
	c.skip, c.since = false, zeroTime
	if err := c.commit(); err != nil {
		if err := c.fail(err, source{}); err != nil {
			return err
		}
	}
	return c.ready()
}

func (c *conn) parse(m *pgproto3.Parse) (source, error) {
	src := source{query: m.Query}
	if m.Name == "" {
		c.sess.Names().DropStatement("")
	}
	declared, err := declaredTypes(m.ParameterOIDs)
	if err != nil {
		return src, err
	}
	parsed, err := c.split(m.Query)
	if err != nil {
		return src, err
	}
	entry := &NamedStatement{Name: m.Name, query: m.Query}
	switch len(parsed) {
	case 0:
	case 1:
		src.off = parsed[0].Off
		entry.Text, entry.off = parsed[0].Text, parsed[0].Off
		if entry.Statement, err = c.prepare(parsed[0], declared); err != nil {
			return src, err
		}
	default:
		return src, sqlerr.New(sqlerr.SyntaxError, "cannot insert multiple commands into a prepared statement")
	}
	if err := c.sess.Names().PutStatement(entry); err != nil {
		return source{}, err
	}
	c.out.send(&pgproto3.ParseComplete{})
	return src, nil
}

func (c *conn) prepare(p Parsed, declared []types.Type) (Statement, error) {
	ctx := c.begin()
	defer c.end()
	stmt, err := c.sess.Prepare(ctx, p, declared)
	if err != nil {
		return nil, reason(ctx, err)
	}
	if n := len(stmt.Params()); n > math.MaxUint16 {
		return nil, sqlerr.New(sqlerr.ProgramLimitExceeded, "a statement can have at most 65535 parameters, not %d", n)
	}
	return stmt, nil
}

// declaredTypes reads the oids of Parse; 0 and unknown leave the choice to us.
func declaredTypes(oids []uint32) ([]types.Type, error) {
	if len(oids) == 0 {
		return nil, nil
	}
	ts := make([]types.Type, len(oids))
	for i, oid := range oids {
		if oid == 0 {
			continue
		}
		t, ok := types.ByOID(oid)
		if !ok {
			return nil, sqlerr.New(sqlerr.UndefinedObject, "type with OID %d does not exist", oid)
		}
		ts[i] = t
	}
	return ts, nil
}

func (c *conn) bind(m *pgproto3.Bind) (source, error) {
	names := c.sess.Names()
	stmt, err := names.Statement(m.PreparedStatement)
	if err != nil {
		return source{}, err
	}
	src := source{stmt.query, stmt.off}
	entry := &NamedPortal{Name: m.DestinationPortal, Text: stmt.Text, query: stmt.query, off: stmt.off}
	if m.DestinationPortal == "" {
		names.DropPortal("")
	} else if _, err := names.Portal(m.DestinationPortal); err == nil {
		return src, sqlerr.New(sqlerr.DuplicateCursor, "cursor %q already exists", m.DestinationPortal)
	}
	if stmt.Statement != nil {
		if err := c.bindStatement(stmt, entry, m); err != nil {
			return src, err
		}
	} else if len(m.Parameters) > 0 {
		return src, wrongCount(len(m.Parameters), m.PreparedStatement, 0)
	}
	if err := names.PutPortal(entry); err != nil {
		entry.drop()
		return src, err
	}
	c.out.send(&pgproto3.BindComplete{})
	return src, nil
}

func wrongCount(given int, name string, want int) error {
	return protocolError("bind message supplies %d parameters, but prepared statement %q requires %d",
		given, name, want)
}

func (c *conn) bindStatement(stmt *NamedStatement, entry *NamedPortal, m *pgproto3.Bind) error {
	params := stmt.Statement.Params()
	if len(m.Parameters) != len(params) {
		return wrongCount(len(m.Parameters), m.PreparedStatement, len(params))
	}
	args, err := decodeParams(params, m, c.sess.Env())
	if err != nil {
		return err
	}
	ctx := c.begin()
	defer c.end()
	portal, err := stmt.Statement.Bind(ctx, args)
	if err != nil {
		return reason(ctx, err)
	}
	entry.Portal = portal
	if cols := portal.Columns(); cols != nil {
		// The codes lie in a message that the next one overwrites.
		entry.Formats, err = resultFormats(m.ResultFormatCodes, len(cols))
	}
	if err != nil {
		entry.drop()
	}
	return err
}

func (c *conn) describe(m *pgproto3.Describe) (source, error) {
	if m.ObjectType == 'S' {
		return source{}, c.describeStatement(m.Name)
	}
	if m.ObjectType != 'P' {
		return source{}, protocolError("invalid DESCRIBE message subtype %d", m.ObjectType)
	}
	p, err := c.sess.Names().Portal(m.Name)
	if err != nil {
		return source{}, err
	}
	if p.Portal == nil {
		c.out.send(&pgproto3.NoData{})
		return source{}, nil
	}
	return source{}, c.describeColumns(p.Portal.Columns(), p.Formats)
}

func (c *conn) describeStatement(name string) error {
	s, err := c.sess.Names().Statement(name)
	if err != nil {
		return err
	}
	var params []types.Type
	var cols []Column
	if s.Statement != nil {
		params, cols = s.Statement.Params(), s.Statement.Columns()
	}
	oids := make([]uint32, len(params))
	for i, t := range params {
		oids[i] = t.OID()
	}
	c.out.send(&pgproto3.ParameterDescription{ParameterOIDs: oids})
	return c.describeColumns(cols, nil)
}

func (c *conn) describeColumns(cols []Column, formats []int16) error {
	if cols == nil {
		c.out.send(&pgproto3.NoData{})
		return nil
	}
	return c.describeRow(cols, formats)
}

func (c *conn) execute(m *pgproto3.Execute) (source, error) {
	p, err := c.sess.Names().Portal(m.Portal)
	if err != nil {
		return source{}, err
	}
	src := source{p.query, p.off}
	if p.Portal == nil {
		c.out.send(&pgproto3.EmptyQueryResponse{})
		return src, nil
	}
	if p.done {
		if p.Portal.Columns() == nil {
			return src, sqlerr.New(sqlerr.ObjectNotInState, "portal %q cannot be run", m.Portal)
		}
		c.complete(p.Portal.Tag(0))
		return src, nil
	}
	ctx := c.begin()
	defer c.end()
	if err := c.executePortal(ctx, p, int(m.MaxRows)); err != nil {
		c.sess.Names().DropPortal(m.Portal) // a held one does not end with the transaction
		return src, reason(ctx, err)
	}
	return src, nil
}

func (c *conn) executePortal(ctx context.Context, p *NamedPortal, maxRows int) error {
	p.start()
	defer p.stop()
	sent, done, err := c.runPortal(ctx, p, maxRows)
	if err != nil {
		return err
	}
	if !done {
		c.out.send(&pgproto3.PortalSuspended{})
		return nil
	}
	p.done = true
	c.complete(p.Portal.Tag(sent))
	c.since = zeroTime
	return nil
}

// closeName serves Close: a name that is not there is no error.
func (c *conn) closeName(m *pgproto3.Close) (source, error) {
	switch m.ObjectType {
	case 'S':
		c.sess.Names().DropStatement(m.Name)
	case 'P':
		c.sess.Names().DropPortal(m.Name)
	default:
		return source{}, protocolError("invalid CLOSE message subtype %d", m.ObjectType)
	}
	c.out.send(&pgproto3.CloseComplete{})
	return source{}, nil
}
