package sql

import (
	"strings"

	"github.com/streamsql/streamsql/sql/dialect"
)

// QuoteIdent writes an identifier so that it is read as it stands: in double
// quotes unless it is a plain lower-case word that is no keyword of SQL's grammar.
func QuoteIdent(s string) string {
	if plainIdent(s) && !dialect.Keyword(s) {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

// QuoteLiteral writes a string constant.
func QuoteLiteral(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func plainIdent(s string) bool {
	if s == "" {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '_' && (c < 'a' || c > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// contextWords are free names that start a construct in some places.
var contextWords = map[string]bool{
	"asof": true, "cube": true, "deduplicate": true, "delay": true, "emit": true, "format": true, "groups": true,
	"operator": true, "partition": true, "range": true, "rollup": true, "rows": true, "stream": true,
	"struct": true, "watermark": true, "ignore": true, "respect": true, "within": true, "filter": true,
}

// ident is QuoteIdent for texts that this package reads back.
func ident(s string) string {
	if contextWords[s] {
		return `"` + s + `"`
	}
	return QuoteIdent(s)
}

// callable are the keywords that name functions as they stand.
var callable = map[string]bool{
	"coalesce": true, "nullif": true, "greatest": true, "least": true, "grouping": true, "window": true,
	"left": true, "right": true,
}

func funcIdent(s string) string {
	if callable[s] {
		return s
	}
	return ident(s)
}

// typeWords are the words that the grammar reads as types of other names.
var typeWords = map[string]bool{
	"int": true, "integer": true, "smallint": true, "bigint": true, "real": true, "boolean": true,
	"decimal": true, "dec": true, "float": true, "character": true, "char": true, "nchar": true,
	"national": true, "setof": true, "struct": true, "double": true,
}

func typeIdent(s string) string {
	if plainIdent(s) && !typeWords[s] && !dialect.Reserved(s) && !dialect.TypeOrFunc(s) {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}
