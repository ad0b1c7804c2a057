package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// TestRepeatedCommit: an epoch is written once, however often and by however many runs
// it is committed, and what was prepared behind the checkpoint is dropped.
func TestRepeatedCommit(t *testing.T) {
	for _, format := range []string{formatPlain, formatUpsert} {
		t.Run(format, func(t *testing.T) {
			p := newPlace(t)
			p.run("CREATE TABLE t (id int PRIMARY KEY, v int)")
			s := p.spec(format, []string{"id int", "v int"}, []int{0})
			k, w := p.open(s, 0)
			k.cfg.piece = 1
			epoch(t, k, w, 1, "+1|1", "+2|2")
			parts := prepare(t, w, 2, batch(t, s, "+3|3", "+4|4"), batch(t, s, "+5|5"))
			prepare(t, w, 3, batch(t, s, "+6|6"))
			// The run ends; the checkpoint has epoch 2. Twice the next run dies after its commit.
			for range 2 {
				next, err := newSink(t.Context(), s)
				if err != nil {
					t.Fatal(err)
				}
				if err := next.Commit(t.Context(), 2, parts); err != nil {
					t.Fatal(err)
				}
				p.same("after the commit", "SELECT count(*), sum(id) FROM t", "5|15")
				_ = next.Close()
			}
			k, w = p.open(s, 2)
			epoch(t, k, w, 3, "+7|7")
			p.same("in the end", "SELECT id FROM t WHERE id > 5", "7")
			if err := s.Outbox.Each(0, 3, func([]byte) error { return errors.New("a piece") }); err != nil {
				t.Error("the outbox is not empty")
			}
		})
	}
}

// TestProgress: what the table of progress says must fit the checkpoint.
func TestProgress(t *testing.T) {
	p := newPlace(t)
	p.run("CREATE TABLE t (id int)")
	s := p.spec(formatPlain, []string{"id int"}, nil)
	k, w := p.open(s, 0)
	epoch(t, k, w, 1, "+1")
	epoch(t, k, w, 2)
	epoch(t, k, w, 3)
	epoch(t, k, w, 4, "+2")

	// A data directory that is an older copy.
	old, err := newSink(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	older := prepare(t, w, 5, batch(t, s, "+3"))
	wantError(t, "an older epoch", old.Commit(t.Context(), 3, older), sqlerr.ObjectNotInState, "has epoch 4 of this sink",
		"last checkpoint is of epoch 3", "older copy")
	if err := old.Abort(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	_, err = old.Open(t.Context(), 0)
	wantError(t, "open", err, sqlerr.ObjectNotInState, "last checkpoint is of epoch 3")

	// A database that is an older copy, and one that has lost the table.
	p.run("UPDATE streamsql_sinks SET epoch = 1")
	k, w = p.open(s, 4)
	parts := prepare(t, w, 5, batch(t, s, "+3"))
	if err := k.Commit(t.Context(), 5, parts); err != nil {
		t.Error("a new run goes by what it finds:", err)
	}
	parts = prepare(t, w, 6, batch(t, s, "+4"))
	p.run("UPDATE streamsql_sinks SET epoch = 1")
	wantError(t, "set back", k.Commit(t.Context(), 6, parts), sqlerr.DataCorrupted, "It says epoch 1, and not 5", "restored from a backup")
	p.run("DELETE FROM streamsql_sinks")
	wantError(t, "no row", k.Commit(t.Context(), 6, parts), sqlerr.DataCorrupted, "no row of this sink")
	p.run("DROP TABLE streamsql_sinks")
	wantError(t, "no table", k.Commit(t.Context(), 6, parts), sqlerr.UndefinedTable, "reading the sink's progress", "drop the sink")
	p.same("rows", "SELECT count(*) FROM t", "3")
}

// wait waits for a report with a text.
func (p *place) wait(want string) {
	p.t.Helper()
	late := time.After(testTime)
	for {
		select {
		case got := <-p.reports:
			if want == got || want != "" && strings.Contains(got, want) {
				return
			}
		case <-late:
			p.t.Fatalf("no report of %q", want)
		}
	}
}

// TestLost: a session that is cut off in the middle of a commit is replaced, and the
// epoch written once, also where the old transaction is still at work.
func TestLost(t *testing.T) {
	p := newPlace(t)
	p.run("CREATE TABLE t (id int)")
	s := p.spec(formatPlain, []string{"id int"}, nil)
	k, w := p.open(s, 0)
	epoch(t, k, w, 1, "+1")
	// Cut off while idle: nobody is told.
	kill := "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'streamsql sink out' AND pid = " +
		fmt.Sprint(k.sessions[0].pg.PID())
	p.run(kill)
	epoch(t, k, w, 2, "+2")
	if len(p.reports) > 0 {
		t.Errorf("it was reported: %s", <-p.reports)
	}
	// Another one holds the row of progress: the commit waits, is cut off, and goes on.
	parts := prepare(t, w, 3, batch(t, s, "+3"))
	other := p.second("BEGIN; SELECT * FROM streamsql_sinks FOR UPDATE")
	done := make(chan error, 1)
	go func() { done <- k.Commit(t.Context(), 3, parts) }()
	for range 2 { // the first time a new session is tried at once
		p.until(waiting, "1")
		p.run("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = 'streamsql sink out'")
	}
	p.wait("terminating connection due to administrator command")
	p.until(waiting, "1")
	other("COMMIT")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	p.wait("")
	p.same("rows", "SELECT count(*), sum(id) FROM t", "3|6")
}

// waiting counts the sink's sessions that wait for a lock.
const waiting = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'streamsql sink out' AND wait_event_type = 'Lock'"

// second runs statements in another session, which goes on with the returned function.
func (p *place) second(sql string) func(sql string) {
	p.t.Helper()
	pg, err := pgconn.Connect(p.t.Context(), p.url)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { hangUp(pg) })
	do := func(sql string) {
		p.t.Helper()
		if err := run(p.t.Context(), pg, sql); err != nil {
			p.t.Fatal(err)
		}
	}
	do("SET search_path = " + p.schema)
	do(sql)
	return do
}

// until waits for a result.
func (p *place) until(sql, want string) {
	p.t.Helper()
	got := ""
	for begin := time.Now(); time.Since(begin) < testTime; time.Sleep(5 * time.Millisecond) {
		if got = p.rows(sql); got == want {
			return
		}
	}
	p.t.Fatalf("%s stays %s", sql, got)
}

// TestConflict: a transaction that the server ends for another's sake is tried again,
// and one that waits can be cancelled.
func TestConflict(t *testing.T) {
	p := newPlace(t)
	p.run("CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 0)")
	s := p.spec(formatUpsert, []string{"id int", "v int"}, []int{0})
	k, w := p.open(s, 0)
	epoch(t, k, w, 1, "+2|2")
	parts := prepare(t, w, 2, batch(t, s, "+1|1"))
	for _, c := range []struct{ code, report string }{
		{"40P01", "deadlock detected"}, {"40001", "could not serialize"}, {"53200", "out of memory"}, {"57014", "canceling"},
		{"55P03", "lock timeout"},
	} {
		p.run(fmt.Sprintf(`CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			RAISE EXCEPTION '%s' USING ERRCODE = '%s'; END $$;
			CREATE OR REPLACE TRIGGER refuse BEFORE INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION refuse()`, c.report, c.code))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- k.Commit(ctx, 2, parts) }()
		p.wait(`writing epoch 2 to table "` + p.schema + `.t" failed: ` + c.report)
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", c.code, err)
		}
	}
	p.run("DROP TRIGGER refuse ON t")
	other := p.second("BEGIN; UPDATE t SET v = 5 WHERE id = 1")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- k.Commit(ctx, 2, parts) }()
	p.until(waiting, "1")
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	other("COMMIT")
	if err := k.Commit(t.Context(), 2, parts); err != nil {
		t.Fatal(err)
	}
	p.same("rows", "SELECT * FROM t ORDER BY id", "1|1\n2|2")
}

// TestAltered: a table that is altered under a running sink is looked at anew.
func TestAltered(t *testing.T) {
	p := newPlace(t)
	p.run("CREATE TABLE t (id int, v double precision)")
	s := p.spec(formatPlain, []string{"id int", "v double precision"}, nil)
	k, w := p.open(s, 0)
	epoch(t, k, w, 1, "+1|1.5")
	// The bytes of a double are those of a bigint, too.
	p.run("ALTER TABLE t ALTER v TYPE bigint")
	epoch(t, k, w, 2, "+2|2.5")
	p.same("another type of the same size", "SELECT * FROM t ORDER BY id", "1|2\n2|2")
	p.run("DROP TABLE t; CREATE TABLE t (v numeric, more int, id int)")
	epoch(t, k, w, 3, "+3|3.25")
	p.same("made anew", "SELECT id, v FROM t", "3|3.25")
	parts := prepare(t, w, 4, batch(t, s, "+4|4"))
	p.run("ALTER TABLE t RENAME v TO w")
	wantError(t, "renamed", k.Commit(t.Context(), 4, parts), sqlerr.UndefinedColumn, `column "v" of sink "out"`)
	p.run("DROP TABLE t")
	wantError(t, "dropped", k.Commit(t.Context(), 4, parts), sqlerr.UndefinedTable, `t" does not exist in database "postgres"`)
	p.run("CREATE TABLE t (id int, v double precision)")
	if err := k.Commit(t.Context(), 4, parts); err != nil {
		t.Fatal(err)
	}
	p.same("in the end", "SELECT * FROM t", "4|4")
}

// TestReadOnly: a server that takes no writes is waited for.
func TestReadOnly(t *testing.T) {
	p := newPlace(t)
	user := p.schema + "_user"
	p.run("CREATE ROLE " + user + " SUPERUSER LOGIN; ALTER ROLE " + user + " SET default_transaction_read_only = on; CREATE TABLE t (id int)")
	t.Cleanup(func() {
		if err := run(context.Background(), p.pg, "DROP OWNED BY "+user+"; DROP ROLE "+user); err != nil {
			t.Error(err)
		}
	})
	s := p.spec(formatPlain, []string{"id int"}, nil, "url", strings.Replace(p.url, "postgres@", user+"@", 1))
	wantError(t, "create", Factory().CheckSink(t.Context(), s), sqlerr.ReadOnlyTransaction, "takes no writes")
	healed := make(chan struct{})
	go func() {
		defer close(healed)
		p.wait("the PostgreSQL server takes no writes")
		p.run("ALTER ROLE " + user + " RESET default_transaction_read_only")
	}()
	k, w := p.open(s, 0)
	epoch(t, k, w, 1, "+1")
	<-healed
	p.same("rows", "SELECT id FROM t", "1")
}

// TestAtLeastOnce: rows are there without an outbox and a table of progress.
func TestAtLeastOnce(t *testing.T) {
	p := newPlace(t)
	p.run("CREATE TABLE t (id int)")
	s := p.spec(formatPlain, []string{"id int"}, nil, "delivery", "at_least_once")
	s.Outbox = nil
	k, w := p.open(s, 0)
	if parts := prepare(t, w, 1, batch(t, s, "+1", "+2")); parts != nil {
		t.Errorf("prepared %q", parts)
	}
	p.same("before the commit", "SELECT count(*) FROM t", "2")
	if err := k.Commit(t.Context(), 1, nil); err != nil {
		t.Error(err)
	}
	p.same("progress", "SELECT to_regclass('streamsql_sinks')", "NULL")
}

// refusing is a server that ends each connection with an error.
func refusing(t *testing.T, code, message string) (port string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			b := pgproto3.NewBackend(c, c)
			if _, err := b.ReceiveStartupMessage(); err == nil {
				b.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: code, Message: message})
				_ = b.Flush()
			}
			_, _ = io.Copy(io.Discard, c)
			_ = c.Close()
		}
	}()
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port
}

// TestRefusedSession: what waiting cannot heal ends the query, the rest is waited for.
func TestRefusedSession(t *testing.T) {
	p := newPlace(t)
	for _, c := range []struct {
		code, message string
		permanent     bool
		hint          string
	}{
		{"28P01", `password authentication failed for user "u"`, true, `Correct options "user" and "password".`},
		{"28000", `no pg_hba.conf entry for host`, true, "Correct options"},
		{"3D000", `database "d" does not exist`, true, `option "database"`},
		{"57P03", "the database system is starting up", false, ""},
		{"53300", "sorry, too many clients already", false, ""},
	} {
		s := p.spec(formatPlain, []string{"id int"}, nil)
		delete(s.Options, "url")
		s.Options["host"], s.Options["port"], s.Options["user"] = "127.0.0.1", refusing(t, c.code, c.message), "u"
		s.Options["sslmode"], s.Options["password"] = "disable", "geheim"
		wantError(t, "create", Factory().CheckSink(t.Context(), s), sqlerr.Code(c.code), c.message, c.hint)
		k, err := newSink(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := k.Open(ctx, 0)
			done <- err
		}()
		if c.permanent {
			err := <-done
			wantError(t, "open", err, sqlerr.Code(c.code), c.message, c.hint)
			if !sqlerr.From(err).Permanent {
				t.Errorf("%s would be tried again", c.code)
			}
		} else {
			p.wait(c.message)
		}
		cancel()
		if !c.permanent {
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
		_ = k.Close()
	}
}

// TestParts: the parts of an epoch have connections and rows of progress of their own.
func TestParts(t *testing.T) {
	p := newPlace(t)
	p.run("CREATE TABLE t (id int)")
	s := p.spec(formatPlain, []string{"id int"}, nil)
	k, w := p.open(s, 0)
	more, err := k.Open(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	for e := connector.Epoch(1); e < 4; e++ {
		parts := append(prepare(t, w, e, batch(t, s, "+1")), prepare(t, more, e, batch(t, s, "+2", "+3"))...)
		if err := k.Commit(t.Context(), e, parts); err != nil {
			t.Fatal(err)
		}
	}
	p.same("rows", "SELECT id, count(*) FROM t GROUP BY id ORDER BY id", "1|3\n2|3\n3|3")
	p.same("progress", "SELECT part, epoch FROM streamsql_sinks ORDER BY part", "0|3\n1|3")
}
