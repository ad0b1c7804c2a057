package dialect

import "strings"

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// PostgreSQL 15's keyword classes that matter to a recognizer.
var (
	reserved = set(`all analyse analyze and any array as asc asymmetric both case cast check collate column
		constraint create current_catalog current_date current_role current_time current_timestamp current_user
		default deferrable desc distinct do else end except false fetch for foreign from grant group having in
		initially intersect into lateral leading limit localtime localtimestamp not null offset on only or order
		placing primary references returning select session_user some symmetric system_user table then to
		trailing true union unique user using variadic when where window with`)
	typeOrFunc = set(`authorization binary collation concurrently cross current_schema freeze full ilike inner
		is isnull join left like natural notnull outer overlaps right similar tablesample verbose`)
	noBareLabel = set(`array as char character create day except fetch filter for from grant group having hour
		intersect into isnull limit minute month notnull offset on order over overlaps precision returning
		second to union varying where window with within without year`)
	// Functions that the standard gives a grammar of their own.
	sqlJSON = set(`json_object json_array json_objectagg json_arrayagg json_value json_query json_exists json_scalar
		json_serialize`)
	// Words that call a function without parentheses.
	valueFuncs = set(`current_date current_time current_timestamp localtime localtimestamp current_user
		session_user system_user user current_role current_catalog current_schema`)
)

// Reserved tells whether a word cannot be a column or relation name unquoted.
func Reserved(word string) bool { return reserved[word] }

// TypeOrFunc tells whether a word can be a type or function name but not a
// column or relation name unquoted.
func TypeOrFunc(word string) bool { return typeOrFunc[word] }

// ValueFunc tells whether a word calls a function without parentheses.
func ValueFunc(word string) bool { return valueFuncs[word] }

// columnNameOnly are keywords that may name columns but not functions or types.
var columnNameOnly = set(`between bigint bit boolean char character coalesce dec decimal exists extract float
	greatest grouping inout int integer interval least national nchar none normalize nullif numeric out overlay
	position precision real row setof smallint substring time timestamp treat trim values varchar
	xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot xmlserialize
	xmltable`)

// Keyword tells whether PostgreSQL quotes a word when it writes it as a name.
func Keyword(word string) bool {
	return reserved[word] || typeOrFunc[word] || columnNameOnly[word]
}
