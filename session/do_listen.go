package session

import (
	"context"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/pgwire"
	"github.com/streamsql/streamsql/sql"
)

// maxPayload is the size of a notification's payload, as in PostgreSQL.
const maxPayload = 8000

// prepareListen makes LISTEN, UNLISTEN and NOTIFY: all take effect at commit.
func (s *Session) prepareListen(tree sql.Statement) *statement {
	return s.command(func(context.Context) (string, error) {
		t := s.begin()
		switch n := tree.(type) {
		case *sql.Listen:
			t.listens = append(t.listens, func() { s.srv.listen(s, n.Channel.Text) })
			return "LISTEN", nil
		case *sql.Unlisten:
			channel := n.Channel.Text
			if n.All {
				channel = ""
			}
			t.listens = append(t.listens, func() { s.srv.unlisten(s, channel) })
			return "UNLISTEN", nil
		case *sql.Notify:
			if len(n.Payload) >= maxPayload {
				return "", sqlerr.New(sqlerr.InvalidParameterValue, "payload string too long")
			}
			msg := pgwire.Notification{PID: s.pid, Channel: n.Channel.Text, Payload: n.Payload}
			for _, old := range t.notify {
				if old == msg {
					return "NOTIFY", nil // equal ones of a transaction are sent once
				}
			}
			t.notify = append(t.notify, msg)
			return "NOTIFY", nil
		}
		return "", sqlerr.Internal("not a notification statement")
	})
}

// prepareMaintenance makes the statements that PostgreSQL's users run out of
// habit, and BACKUP.
func (s *Session) prepareMaintenance(tree sql.Statement) *statement {
	return s.command(func(ctx context.Context) (string, error) {
		switch t := tree.(type) {
		case *sql.LockTable:
			if err := s.needBlock("LOCK TABLE"); err != nil {
				return "", err
			}
			// A conflict of writers is found at COMMIT (40001), so there is nothing to lock.
			for _, n := range t.Tables {
				if _, err := s.resolve(n); err != nil {
					return "", err
				}
			}
			return "LOCK TABLE", nil
		case *sql.Maintenance:
			for _, n := range t.Tables {
				if _, err := s.resolve(n); err != nil {
					return "", err
				}
			}
			s.notice(sqlerr.Warning, "%s has nothing to do: the store maintains itself", t.Verb)
			return t.Verb, nil
		case *sql.Backup:
			if err := s.outsideBlock(ctx, "BACKUP"); err != nil {
				return "", err
			}
			if len(t.Options) > 0 {
				return "", unknownOption(t.Options[0].Name, nil)
			}
			return "BACKUP", s.srv.Store.Backup(t.Path)
		}
		return "", sqlerr.Internal("not a maintenance statement")
	})
}
