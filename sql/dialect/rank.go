package dialect

// rank is the binding strength of PostgreSQL's operators, weakest first.
type rank uint8

const (
	rankNone rank = iota
	rankOr
	rankAnd
	rankNot
	rankIs
	rankCompare
	rankIn // BETWEEN, IN, LIKE
	rankOp // every operator without a rank of its own
	rankAdd
	rankMul
	rankPow
	rankAt
	rankCollate
	rankMinus
	rankCast
)

// mathOp tells whether the operator has a rank of its own in the grammar.
func mathOp(s string) bool {
	switch s {
	case "+", "-", "*", "/", "%", "^", "<", ">", "=", "<=", ">=", "<>":
		return true
	}
	return false
}

// nextRank returns the rank of the infix or postfix operator at the cursor.
func (b *Bridge) nextRank() rank {
	switch t := b.Cur(); t.Kind {
	case Op:
		return opRank(t.Text)
	case Punct:
		if t.Text == "::" {
			return rankCast
		}
	case Ident:
		switch t.Text {
		case "in", "between", "like", "ilike", "similar", "overlaps":
			return rankIn
		case "not":
			switch b.Peek(1).Text {
			case "in", "between", "like", "ilike", "similar":
				return rankIn
			}
		case "operator":
			if b.IsPunct(1, "(") {
				return rankOp
			}
		case "collate":
			return rankCollate
		case "at":
			if b.IsWord(1, "time", "zone") || b.IsWord(1, "local") {
				return rankAt
			}
		}
	}
	return rankNone
}

// SameRank tells whether a op b op2 c groups to the left without parentheses.
func SameRank(op, op2 string) bool {
	r := opRank(op)
	return r == opRank(op2) && r != rankCompare
}

// opRank returns the rank of an infix operator.
func opRank(op string) rank {
	switch op {
	case "<", ">", "=", "<=", ">=", "<>":
		return rankCompare
	case "+", "-":
		return rankAdd
	case "*", "/", "%":
		return rankMul
	case "^":
		return rankPow
	}
	return rankOp
}
