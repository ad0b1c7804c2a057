// Package sql turns SQL text into a syntax tree and back.
//
// The dialect is PostgreSQL's with streaming statements added. A text goes
// through three stages:
//
//	text → tokens (dialect.Lex) → statements (the recursive-descent parser here)
//	     → queries and expressions (sql/dialect's bridge, decoded here)
//
// The tree is purely syntactic: names are not resolved, types are names, and no
// catalog is asked. Everything outside works on the types of this package only;
// no type of the parser behind the bridge leaves sql and sql/dialect.
//
// The life of a statement: Parse makes it, it is never changed by this package
// afterwards, and whoever binds it may keep it as long as it likes (it holds no
// buffer of the parser, and shares only substrings of the source text).
//
// Invariants:
//
//  1. Every position is a byte offset, counted from 0, into the text that was
//     given to Parse, also in the second and later statements of the text.
//  2. FormatStatement(s) parses to a tree equal to s in everything but positions.
//  3. Names are folded and truncated as PostgreSQL does it (lower case unless
//     quoted, at most 63 bytes); a Name's Text is what catalogs compare.
//  4. Numbers stay text: no literal loses digits before its type is known.
//  5. A tree nests at most MaxDepth deep, so recursion over it is safe.
//  6. Every error is a *sqlerr.Error with a position in the text.
package sql
