package session

import (
	"context"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/pgwire"
	"github.com/streamsql/streamsql/sql"
	"github.com/streamsql/streamsql/sql/types"
)

// maxParams is the number of parameters that the protocol can carry.
const maxParams = 65535

// Split parses a query string.
func (s *Session) Split(text string) ([]pgwire.Parsed, error) {
	stmts, err := sql.Parse(text)
	if err != nil {
		return nil, err
	}
	out := make([]pgwire.Parsed, 0, len(stmts))
	for i, st := range stmts {
		at := st.Extent()
		if i == 0 {
			// Positions in the first statement's tree are right if its text begins
			// where the string does.
			out = append(out, pgwire.Parsed{Text: text[:at.End], Tree: st})
			continue
		}
		part := at.Of(text)
		one, err := sql.ParseOne(part)
		if err != nil {
			return nil, err
		}
		out = append(out, pgwire.Parsed{Text: part, Off: at.Start, Tree: one})
	}
	return out, nil
}

// Prepare analyses one statement.
func (s *Session) Prepare(ctx context.Context, p pgwire.Parsed, params []types.Type) (pgwire.Statement, error) {
	tree, ok := p.Tree.(sql.Statement)
	if !ok {
		return nil, sqlerr.Internal("statement without a tree")
	}
	if s.TxStatus() == pgwire.TxFailed && !endsTransaction(tree) {
		return nil, aborted()
	}
	st, err := s.analyse(ctx, p.Text, tree, params)
	if err != nil {
		return nil, err
	}
	return st, nil
}

// endsTransaction tells whether the statement is accepted in a failed block.
func endsTransaction(tree sql.Statement) bool {
	switch tree.(type) {
	case *sql.Commit, *sql.Rollback, *sql.RollbackTo:
		return true
	}
	return false
}

// analyse makes a statement of its tree.
func (s *Session) analyse(ctx context.Context, text string, tree sql.Statement, params []types.Type,
) (*statement, error) {
	if len(params) > maxParams {
		return nil, sqlerr.New(sqlerr.TooManyArguments, "a statement cannot have more than %d parameters", maxParams)
	}
	in := &input{ctx: ctx, text: text, params: params}
	st, err := s.dispatch(in, tree)
	if err != nil {
		return nil, err
	}
	if st.params == nil {
		st.params = params
		for i, t := range params {
			if t.ID == types.Unknown {
				st.params = append([]types.Type(nil), st.params...)
				st.params[i] = types.TText
			}
		}
	}
	st.text, st.tree, st.declared, st.version = text, tree, params, s.snapshot()
	return st, nil
}

// input is what analysis has besides the tree.
type input struct {
	ctx    context.Context
	text   string
	params []types.Type
}

// dispatch hands the tree to the file that knows its kind.
func (s *Session) dispatch(in *input, tree sql.Statement) (*statement, error) {
	switch t := tree.(type) {
	case *sql.QueryStmt:
		return s.prepareSelect(in, t)
	case *sql.Insert, *sql.Update, *sql.Delete:
		return s.prepareWrite(in, t)
	case *sql.Subscribe:
		return s.prepareSubscribe(in, t)
	case *sql.Copy:
		return s.prepareCopy(in, t)
	case *sql.Explain:
		return s.prepareExplain(in, t)
	case *sql.Execute:
		return s.prepareExecute(in, t)
	case *sql.DeclareCursor:
		return s.prepareDeclare(in, t)
	case *sql.Fetch:
		return s.prepareFetch(t)
	}
	if st := s.dispatchSession(tree); st != nil {
		return st, nil
	}
	return s.dispatchObject(in, tree)
}

// dispatchSession is dispatch for statements about the session.
func (s *Session) dispatchSession(tree sql.Statement) *statement {
	switch t := tree.(type) {
	case *sql.Set:
		return s.prepareSet(t)
	case *sql.Reset:
		return s.prepareReset(t)
	case *sql.SetTransaction:
		return s.prepareSetTransaction(t)
	case *sql.Begin, *sql.Commit, *sql.Rollback, *sql.Savepoint, *sql.ReleaseSavepoint, *sql.RollbackTo:
		return s.prepareTransaction(t)
	case *sql.CloseCursor:
		return s.prepareClose(t)
	case *sql.Deallocate:
		return s.prepareDeallocate(t)
	case *sql.Discard:
		return s.prepareDiscard(t)
	case *sql.Listen, *sql.Unlisten, *sql.Notify:
		return s.prepareListen(t)
	case *sql.LockTable, *sql.Maintenance, *sql.Backup:
		return s.prepareMaintenance(t)
	}
	return nil
}

// dispatchObject is dispatch for statements about objects.
func (s *Session) dispatchObject(in *input, tree sql.Statement) (*statement, error) {
	switch t := tree.(type) {
	case *sql.Show:
		return s.prepareShow(t)
	case *sql.ShowObjects:
		return s.prepareShowObjects(t)
	case *sql.ShowCreate:
		return s.prepareShowCreate(t)
	case *sql.ShowColumns:
		return s.prepareShowColumns(t)
	case *sql.ShowProgress:
		return s.prepareShowProgress(t)
	case *sql.Prepare:
		return s.preparePrepare(in, t)
	case *sql.CreateSource, *sql.CreateTable, *sql.CreateView, *sql.CreateSink, *sql.CreateFlow:
		return s.prepareCreate(in, t)
	case *sql.Drop:
		return s.prepareDrop(t), nil
	case *sql.Truncate:
		return s.prepareTruncate(t), nil
	case *sql.AlterSet, *sql.AlterRename, *sql.Comment:
		return s.prepareAlter(in, t), nil
	case *sql.Control, *sql.Await, *sql.Flush:
		return s.prepareControl(in, t)
	case *sql.CreateSavepoint, *sql.DropSavepoint:
		return s.prepareSavepoint(t), nil
	case *sql.ExplainWait:
		return s.prepareExplainWait(t)
	}
	return nil, sqlerr.Unsupported("this statement is not supported")
}
