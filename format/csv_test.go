package format

import (
	"strings"
	"testing"

	"github.com/streamsql/streamsql/sql/types"
)

func TestCSVFiles(t *testing.T) {
	cols := []Column{col("iata", types.TText), col("lat", types.TFloat8), col("n", types.TInt4)}
	semi := CSVOptions{Delimiter: ';', Quote: '\'', Escape: '\\', Null: `\N`}
	for _, c := range []struct {
		name     string
		csv      CSVOptions
		in, want string
	}{
		{"header by name", DefaultCSV, "N,IATA,other, lat \n1,00M,x,31.5\n2,\"a,\"\"b\"\"\",y,-1e3\r\n", `
{"iata":"00M","lat":31.5,"n":1}
{"iata":"a,\"b\"","lat":-1000,"n":2}
`},
		{"null and empty", DefaultCSV, "iata,lat,n\n,,\n\"\",1,2", `
{"iata":null,"lat":null,"n":null}
{"iata":"","lat":1,"n":2}
`},
		{"quoted line end, blank line", DefaultCSV, "iata,lat,n\n\"two\nlines\",1,2\n\nx,3,4\n", `
{"iata":"two\nlines","lat":1,"n":2}
{"iata":"x","lat":3,"n":4}
`},
		{"ragged", DefaultCSV, "iata,lat,n\na,1\nb,1,2,3\nc,1,2\n", `
! missing data for column "n" <a,1>
! extra data after last expected column <b,1,2,3>
{"iata":"c","lat":1,"n":2}
`},
		{"bad value", DefaultCSV, "iata,lat,n\na,1,x\nb,zero,5\nc,1,3000000000\nd,1,1\n", `
! column "n": invalid input syntax for type integer: "x" <a,1,x>
! column "lat": invalid input syntax for type double precision: "zero" <b,zero,5>
! column "n": value "3000000000" is out of range for type integer <c,1,3000000000>
{"iata":"d","lat":1,"n":1}
`},
		{"behind a quote", DefaultCSV, "iata,lat,n\n\"a\"b,1,2\nc,1,2\n", `
! data after the closing quote of a CSV field <"a"b,1,2>
{"iata":"c","lat":1,"n":2}
`},
		{"quote within", DefaultCSV, "iata,lat,n\n5\" disk,1,2\n", `
{"iata":"5\" disk","lat":1,"n":2}
`},
		{"stray quote", DefaultCSV, "iata,lat,n\n\"a,1,2\nb,1,2\n", `
! unterminated CSV quoted field <"a,1,2>
{"iata":"b","lat":1,"n":2}
`},
		{"other dialect, no header", semi, "'it\\'s';1;2\n\\N;\\N;\\N\n'\\N';0;0\n", `
{"iata":"it's","lat":1,"n":2}
{"iata":null,"lat":null,"n":null}
{"iata":"\\N","lat":0,"n":0}
`},
		{"no such column", DefaultCSV, "iatta,lat,n\n", `
! column "iata" is not in the header of the file (The header is: iatta, lat, n.)
`},
		{"header alone", DefaultCSV, "\xef\xbb\xbfiata,lat,n", "\n"},
		{"empty", DefaultCSV, "", "\n"},
		{"no text", DefaultCSV, "iata,lat,n\n\xff,1,2\na\x00,1,2\n", `
` + "! column \"iata\": invalid byte sequence for encoding \"UTF8\" <\xff,1,2>" + `
` + "! column \"iata\": invalid byte sequence for encoding \"UTF8\": 0x00 <a\x00,1,2>" + `
`},
	} {
		want := strings.TrimPrefix(c.want, "\n")
		for _, size := range []int{1, 3, 1000} {
			got := decodeFile(t, mustNew(t, CSV, Options{CSV: c.csv}, cols...), cols, c.in, size)
			if got != want {
				t.Errorf("%s in chunks of %d:\n got\n%s\n want\n%s", c.name, size, got, want)
			}
		}
	}
}

func TestCSVNamesInAnyCase(t *testing.T) {
	cols := []Column{col("Cost Total $", types.TText), col("speed", types.TInt4), col("!-day", types.TDate)}
	in := "SPEED,Cost Total $,Speed,Day\n1,\"1,500\",2,x\n3,,4,\n"
	got := decodeFile(t, mustNew(t, CSV, Options{}, cols...), cols, in, 5)
	want := `{"Cost Total $":"1,500","speed":1,"day":null}
! column "day": null value in column "day" violates not-null constraint <3,,4,>
`
	if got != want {
		t.Errorf("got\n%s want\n%s", got, want)
	}
}

func TestText(t *testing.T) {
	for _, c := range []struct {
		name, enc string
		col       Column
		in, want  string
	}{
		{"lines", Text, col("l", types.TText), "a\r\n\nb {\n  c", `
{"l":"a"}
{"l":""}
{"l":"b {"}
{"l":"  c"}
`},
		{"numbers", Text, col("l", types.TInt8), "1\n x\n 3 \n", `
{"l":1}
! column "l": invalid input syntax for type bigint: " x" < x>
{"l":3}
`},
		{"bytes", Bytes, col("b", types.TBytea), "a\n\xff\x00", `
{"b":"\\x610aff00"}
`},
		{"unused", Text, col("-l", types.TText), "a\nb", `
{"l":null}
{"l":null}
`},
	} {
		cols := []Column{c.col}
		for _, size := range []int{1, 1000} {
			got := decodeFile(t, mustNew(t, c.enc, Options{}, cols...), cols, c.in, size)
			if got != strings.TrimPrefix(c.want, "\n") {
				t.Errorf("%s in chunks of %d:\n%s", c.name, size, got)
			}
		}
	}
}

func TestNewRefuses(t *testing.T) {
	two := []Column{col("a", types.TText), col("b", types.TText)}
	for _, c := range []struct {
		enc  string
		o    Options
		cols []Column
		want string
	}{
		{"jsn", Options{}, two, `encoding "jsn" is not known`},
		{JSON, Options{TimestampFormat: "epoch"}, two, `timestamp_format "epoch" is not known`},
		{CSV, Options{}, two, "CSV delimiter, quote and escape must be given"},
		{CSV, Options{CSV: CSVOptions{Delimiter: ',', Quote: ',', Escape: '"'}}, two,
			"CSV delimiter and quote must be different"},
		{CSV, Options{CSV: DefaultCSV}, []Column{col("s", types.StructOf(types.Field{Name: "x", Type: types.TInt2}))},
			`column "s" of type struct<x smallint> cannot be read from CSV`},
		{Text, Options{}, two, "ENCODE text fills exactly one column besides metadata columns"},
		{Bytes, Options{}, nil, "ENCODE bytes fills exactly one column besides metadata columns"},
	} {
		if _, err := New(c.cols, c.enc, c.o); err == nil || err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", c.enc, err, c.want)
		}
	}
}
