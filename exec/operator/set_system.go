package operator

import (
	"slices"
	"strings"
	"time"

	"github.com/streamsql/streamsql/arrowbatch"
	"github.com/streamsql/streamsql/sql/types"
)

// keywordClasses are PostgreSQL 15's keywords: the class, whether a word may be a
// column label without AS, the words.
var keywordClasses = []struct {
	code  string
	bare  bool
	words string
}{
	{"C", false, `char character precision`},
	{"C", true, `between bigint bit boolean coalesce dec decimal exists extract float greatest grouping inout
		int integer interval least national nchar none normalize nullif numeric out overlay position
		real row setof smallint substring time timestamp treat trim values varchar xmlattributes
		xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot xmlserialize
		xmltable`},
	{"R", false, `array as create except fetch for from grant group having intersect into limit offset on order
		returning to union where window with`},
	{"R", true, `all analyse analyze and any asc asymmetric both case cast check collate column constraint
		current_catalog current_date current_role current_time current_timestamp current_user default
		deferrable desc distinct do else end false foreign in initially lateral leading localtime
		localtimestamp not null only or placing primary references select session_user some symmetric
		table then trailing true unique user using variadic when`},
	{"T", false, `isnull notnull overlaps`},
	{"T", true, `authorization binary collation concurrently cross current_schema freeze full ilike inner is
		join left like natural outer right similar tablesample verbose`},
	{"U", false, `day filter hour minute month over second varying within without year`},
	{"U", true, `abort absolute access action add admin after aggregate also alter always asensitive assertion
		assignment at atomic attach attribute backward before begin breadth by cache call called
		cascade cascaded catalog chain characteristics checkpoint class close cluster columns comment
		comments commit committed compression configuration conflict connection constraints content
		continue conversion copy cost csv cube current cursor cycle data database deallocate declare
		defaults deferred definer delete delimiter delimiters depends depth detach dictionary disable
		discard document domain double drop each enable encoding encrypted enum escape event exclude
		excluding exclusive execute explain expression extension external family finalize first
		following force forward function functions generated global granted groups handler header hold
		identity if immediate immutable implicit import include including increment index indexes
		inherit inherits inline input insensitive insert instead invoker isolation key label language
		large last leakproof level listen load local location lock locked logged mapping match matched
		materialized maxvalue merge method minvalue mode move name names new next nfc nfd nfkc nfkd no
		normalized nothing notify nowait nulls object of off oids old operator option options
		ordinality others overriding owned owner parallel parameter parser partial partition passing
		password plans policy preceding prepare prepared preserve prior privileges procedural procedure
		procedures program publication quote range read reassign recheck recursive ref referencing
		refresh reindex relative release rename repeatable replace replica reset restart restrict
		return returns revoke role rollback rollup routine routines rows rule savepoint schema schemas
		scroll search security sequence sequences serializable server session set sets share show
		simple skip snapshot sql stable standalone start statement statistics stdin stdout storage
		stored strict strip subscription support sysid system tables tablespace temp template temporary
		text ties transaction transform trigger truncate trusted type types uescape unbounded
		uncommitted unencrypted unknown unlisten unlogged until update vacuum valid validate validator
		value version view views volatile whitespace work wrapper write xml yes zone`},
}

var keywordDesc = map[string]string{
	"U": "unreserved",
	"C": "unreserved (cannot be function or type name)",
	"T": "reserved (can be function or type name)",
	"R": "reserved",
}

// openKeywords is pg_get_keywords().
func openKeywords(*setCall, []*arrowbatch.Vec, int) (rowSeq, error) {
	k := &keywords{}
	for c, class := range keywordClasses {
		for _, w := range strings.Fields(class.words) {
			k.list = append(k.list, keyword{w, c})
		}
	}
	slices.SortFunc(k.list, func(a, b keyword) int { return strings.Compare(a.word, b.word) })
	return k, nil
}

type keyword struct {
	word  string
	class int
}

type keywords struct{ list []keyword }

func (k *keywords) next(cols []*arrowbatch.Vec, limit int) (int, error) {
	n := min(limit, len(k.list))
	for _, w := range k.list[:n] {
		class := keywordClasses[w.class]
		cols[0].AppendString(w.word)
		cols[1].AppendString(class.code)
		cols[2].AppendBool(class.bare)
		cols[3].AppendString(keywordDesc[class.code])
		if class.bare {
			cols[4].AppendString("can be bare label")
		} else {
			cols[4].AppendString("requires AS")
		}
	}
	k.list = k.list[n:]
	return n, nil
}

// openZones is pg_timezone_names().
func openZones(c *setCall, _ []*arrowbatch.Vec, _ int) (rowSeq, error) {
	return &zones{types.ZoneNames(), time.UnixMicro(c.ctx.Now)}, nil
}

type zones struct {
	names []string
	at    time.Time
}

func (z *zones) next(cols []*arrowbatch.Vec, limit int) (int, error) {
	n := 0
	for ; n < limit && len(z.names) > 0; z.names = z.names[1:] {
		loc, ok := types.LoadZone(z.names[0])
		if !ok {
			continue
		}
		abbrev, offset := z.at.In(loc).Zone()
		cols[0].AppendString(z.names[0])
		cols[1].AppendString(abbrev)
		cols[2].AppendInterval(arrowbatch.IntervalValue{Micros: int64(offset) * 1e6})
		cols[3].AppendBool(z.at.In(loc).IsDST())
		n++
	}
	return n, nil
}

// openOptions is pg_options_to_table(array of name=value).
func openOptions(_ *setCall, args []*arrowbatch.Vec, i int) (rowSeq, error) {
	t := &texts{}
	lo, hi := args[0].ListAt(i)
	for ; lo < hi; lo++ {
		if args[0].Kids[0].IsNull(lo) {
			continue
		}
		name, value, ok := strings.Cut(string(args[0].Kids[0].BytesAt(lo)), "=")
		if ok {
			t.rows = append(t.rows, []string{name, value})
		} else {
			t.rows = append(t.rows, []string{name})
		}
	}
	return t, nil
}
