package sql

func (p *parser) statement() Statement {
	start := p.Pos()
	q := p.query()
	return &QueryStmt{Span: p.span(start), Query: q}
}
