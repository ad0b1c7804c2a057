package postgres

import (
	"context"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// progressTable is the table of what sinks have written, in the table's schema.
const progressTable = "streamsql_sinks"

func (c *config) progress() string { return ident(c.schema, progressTable) }

// createProgress is the statement that makes it.
func (c *config) createProgress() string {
	return "CREATE TABLE IF NOT EXISTS " + c.progress() + ` (sink text, part integer, epoch bigint NOT NULL,
		name text NOT NULL, target text NOT NULL, changed timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (sink, part))`
}

// checkProgress tells whether the table of progress can be used, or made.
func (c *config) checkProgress(ctx context.Context, pg *pgconn.PgConn) error {
	rows, err := query(ctx, pg, `SELECT c.oid IS NOT NULL, coalesce(has_table_privilege(c.oid, 'SELECT') AND
		has_table_privilege(c.oid, 'INSERT') AND has_table_privilege(c.oid, 'UPDATE'), false),
		has_schema_privilege(n.oid, 'CREATE')
		FROM pg_catalog.pg_namespace n LEFT JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = $2
		WHERE n.nspname = $1`, c.schema, progressTable)
	switch {
	case err != nil:
		return err
	case len(rows) == 0 || rows[0][1] == "t" || rows[0][0] != "t" && rows[0][2] == "t":
		return nil
	}
	e := sqlerr.New(sqlerr.InsufficientPrivilege, `user "%s" may not keep the sink's progress in table "%s.%s"`,
		c.server.User, c.schema, progressTable).AsPermanent()
	if rows[0][0] == "t" {
		return e.WithHint("GRANT SELECT, INSERT, UPDATE ON %s there, or use delivery = 'at_least_once'.", c.progress())
	}
	return e.WithHint("GRANT CREATE ON SCHEMA %s there, or have the table made and GRANT SELECT, INSERT, UPDATE on it, "+
		"or use delivery = 'at_least_once'.", ident(c.schema)).WithDetail("The table is made by: %s", c.createProgress())
}

// register makes sure that the part has its row in the table of progress, and
// returns the epoch there; 0: none yet.
func (s *sink) register(ctx context.Context, pg *pgconn.PgConn, part int) (connector.Epoch, error) {
	there, err := query(ctx, pg, "SELECT pg_catalog.to_regclass($1)", s.cfg.progress())
	if err != nil {
		return 0, err
	}
	if there[0][0] == null {
		if err := create(ctx, pg, s.cfg.createProgress()); err != nil {
			return 0, err
		}
	}
	_, err = query(ctx, pg, "INSERT INTO "+s.cfg.progress()+" (sink, part, epoch, name, target) "+
		"VALUES ($1, $2, 0, $3, $4) ON CONFLICT (sink, part) DO NOTHING", s.spec.Identity, strconv.Itoa(part),
		s.spec.Name, s.cfg.full())
	if err != nil {
		return 0, err
	}
	rows, err := query(ctx, pg, "SELECT epoch FROM "+s.cfg.progress()+" WHERE sink = $1 AND part = $2", s.spec.Identity,
		strconv.Itoa(part))
	if err != nil {
		return 0, err
	}
	return epochIn(rows)
}

func epochIn(rows [][]string) (connector.Epoch, error) {
	if len(rows) == 0 {
		return 0, sqlerr.New(sqlerr.SerializationFailure, "the sink's row in the table of progress is gone")
	}
	n, err := strconv.ParseUint(rows[0][0], 10, 63)
	return connector.Epoch(n), err
}

// progressError explains that the table of progress cannot be read.
func (s *sink) progressError(err error) error {
	e := sqlerr.From(s.cfg.explain(err, "reading the sink's progress"))
	if e.Code == sqlerr.UndefinedTable {
		e.Hint = "Without it nobody can tell which epochs are in the table: look there, then drop the sink and create it " +
			"again."
	}
	return e
}

// ahead says that the database has an epoch that the data directory has not.
func (s *sink) ahead(e, at connector.Epoch) error {
	return sqlerr.New(sqlerr.ObjectNotInState,
		`table "%s" has epoch %d of this sink, whose last checkpoint is of epoch %d`, s.cfg.full(), at, e).
		WithDetail("The data directory is an older copy, or another server runs on a copy of it.").
		WithHint("Drop the sink and create it again; rows after the checkpoint would be written twice.").AsPermanent()
}

// forgotten says that the database lacks what was committed.
func (s *sink) forgotten(e connector.Epoch, detail string) error {
	return sqlerr.New(sqlerr.DataCorrupted, `epoch %d cannot be written to table "%s": the table of progress %s `+
		"does not fit", e, s.cfg.full(), s.cfg.progress()).
		WithDetail("%s The database was restored from a backup, failed over to a standby that lacked transactions, or "+
			"the table of progress was changed.", detail).
		WithHint("See which rows are in the table, then drop the sink and create it again.").AsPermanent()
}
