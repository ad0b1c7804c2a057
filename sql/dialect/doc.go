// Package dialect is the bridge from PostgreSQL's query grammar to a parser that
// speaks another one.
//
// Lex cuts a text into tokens. A Bridge walks over the tokens of one query or
// expression and writes a Fragment: text in the grammar of the parser behind,
// with marker calls for what that grammar lacks. Parse gives the fragment to the
// parser; package sql decodes the tree that comes back.
//
// A fragment holds structure only. Every name, literal, parameter and operator
// is written as the index of its token between back quotes, `17`, so no byte of
// the user's text reaches the parser behind: its quoting, escapes, number and
// name limits do not matter, and the decoder has every position. Marker calls
// are words (`cast`), facts that have no place in the text are kept in Facts and
// written as a letter and an index (`a3` is Facts.Items[3]).
//
// Operators use the parser's own precedence: the translator never looks for the
// ends of operands, it writes glue operators whose rank fits (| for LIKE, & for
// PostgreSQL's other operators, || for casts) with a marker between, and the
// decoder regroups the flat chains. Prefix operators are written as calls around
// their operand, whose end is found by rank.
//
// The life of a Bridge: one for each text that is parsed, holding the cursor
// that the statement parser shares; each Query, Expr, … call adds a Fragment.
//
// Invariants:
//
//  1. A fragment is ASCII and holds no comment, string or unquoted user word.
//  2. Positions are byte offsets into the text given to Lex.
//  3. A failure leaves through one panic value that Catch turns into an error;
//     nothing else panics.
//  4. Nesting is limited to MaxNesting, before anything recurses.
//  5. Parsers are pooled and used by one goroutine at a time.
package dialect
