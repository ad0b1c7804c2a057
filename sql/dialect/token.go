package dialect

import "github.com/streamsql/streamsql/internal/sqlerr"

// Kind is the kind of a token.
type Kind uint8

// The kinds of tokens.
const (
	EOF    Kind = iota
	Ident       // unquoted word, folded
	Quoted      // quoted identifier
	Str         // string constant, escapes resolved
	Bits        // bit string: b or x, then the digits
	Num         // number as written
	Param       // $n, without the dollar
	Op          // operator characters
	Punct       // ( ) [ ] , ; . : :: := =>
	Hint        // text of a /*+ */ comment after SELECT
	Bad         // where lexing failed
)

// Token is one lexical element.
type Token struct {
	Kind Kind
	// query memoises whether a "(" opens a query: 0 unknown, 1 yes, 2 no.
	query uint8
	// Match is the index of the matching bracket, -1 without one.
	Match int32
	// Text is the decoded text: folded, unescaped, unquoted.
	Text     string
	Pos, End int // byte range in the source
	err      *sqlerr.Error
}

// IsName tells whether the token can be a label: any word, quoted or not.
func (t *Token) IsName() bool { return t.Kind == Ident || t.Kind == Quoted }
