package file

import (
	"path/filepath"
	"testing"

	"github.com/streamsql/streamsql/connector"
	"github.com/streamsql/streamsql/sql/types"
)

// The files in testdata are excerpts of public data: a week of earthquakes (USGS),
// flights and airports (US Bureau of Transportation Statistics), bird strikes (FAA).

func dataFixture(t *testing.T, file string, cols []connector.Column, opts ...string) *fixture {
	f := newFixture(t, opts...)
	f.spec.Options["path"] = filepath.Join("testdata", file)
	f.spec.Columns = cols
	return f
}

func TestEarthquakes(t *testing.T) {
	props := types.StructOf(types.Field{Name: "mag", Type: types.TFloat8}, types.Field{Name: "place", Type: types.TText},
		types.Field{Name: "time", Type: types.TTimestamptz}, types.Field{Name: "felt", Type: types.TInt4},
		types.Field{Name: "magtype", Type: types.TText})
	geo := types.StructOf(types.Field{Name: "coordinates", Type: types.ArrayOf(types.TNumeric)})
	f := dataFixture(t, "earthquakes.ndjson", []connector.Column{{Name: "id", Type: types.TText, NotNull: true},
		{Name: "properties", Type: props}, {Name: "geometry", Type: geo}}, "timestamp_format", "epoch_ms")
	rows, _, _, err := f.drain(f.open(f.source(), ""), "")
	if err != nil || len(rows) != 40 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	want := `{"id":"ci37868143","properties":{"mag":2,"place":"4km W of Castaic, CA",` +
		`"time":"2018-02-07T01:26:13.84+00:00","felt":null,"magtype":"ml"},` +
		`"geometry":{"coordinates":[-118.6671667,34.4945,26.49]}}`
	if rows[0] != want {
		t.Errorf("got  %s\nwant %s", rows[0], want)
	}
}

func TestFlights(t *testing.T) {
	f := dataFixture(t, "flights.ndjson", []connector.Column{{Name: "date", Type: types.TTimestamp},
		{Name: "delay", Type: types.TInt4}, {Name: "origin", Type: types.TText}})
	rows, _, _, err := f.drain(f.open(f.source(), ""), "")
	if err != nil || len(rows) != 200 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	if want := `{"date":"2001-01-01T00:47:00","delay":66,"origin":"DTW"}`; rows[0] != want {
		t.Errorf("got %s, want %s", rows[0], want)
	}
}

func TestAirports(t *testing.T) {
	f := dataFixture(t, "airports.csv", []connector.Column{{Name: "iata", Type: types.TText, NotNull: true},
		{Name: "latitude", Type: types.TFloat8}, {Name: "state", Type: types.TVarchar}}, "format", "csv")
	rows, _, _, err := f.drain(f.open(f.source(), ""), "")
	if err != nil || len(rows) != 100 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	if want := `{"iata":"00M","latitude":31.95376472,"state":"MS"}`; rows[0] != want {
		t.Errorf("got %s, want %s", rows[0], want)
	}
}

func TestBirdStrikes(t *testing.T) {
	f := dataFixture(t, "birdstrikes.csv", []connector.Column{{Name: "Airport Name", Type: types.TText},
		{Name: "wildlife species", Type: types.TText}, {Name: "flight date", Type: types.TDate},
		{Name: "Cost Total $", Type: types.TInt8}}, "format", "csv")
	rows, _, _, err := f.drain(f.open(f.source(), ""), "")
	if err != nil || len(rows) != 80 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	want := `{"Airport Name":"BARKSDALE AIR FORCE BASE ARPT","wildlife species":"Turkey vulture",` +
		`"flight date":"1990-01-08","Cost Total $":0}`
	if rows[0] != want {
		t.Errorf("got  %s\nwant %s", rows[0], want)
	}
}
