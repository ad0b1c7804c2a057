package kafka

import (
	"errors"
	"testing"

	"github.com/streamsql/streamsql/connector"
)

func TestReadAndBounds(t *testing.T) {
	_, addr := cluster(t, 2)
	kc := kgoClient(t, addr)
	produceTo(t, kc, 0, ids(0, 10)...)
	produceTo(t, kc, 1, ids(100, 105)...)
	s := open(t, idSpec(addr))
	splits, err := s.Splits(testContext(t))
	if err != nil || len(splits) != 2 || splits[0].ID != "0" || splits[1].ID != "1" {
		t.Fatal(splits, err)
	}
	if l := latest(t, s, 0); l != "10" {
		t.Fatal(l)
	}
	r := openReader(t, s, 0, "")
	for _, step := range []struct {
		until, next connector.Offset
		want        []int64
	}{{"0", "0", nil}, {"3", "3", []int64{0, 1, 2}}, {"3", "3", nil}, {"2", "3", nil}, {"4", "4", []int64{3}},
		{"10", "10", []int64{4, 5, 6, 7, 8, 9}}} {
		got, next, err := readTo(t, r, step.until)
		if err != nil || next != step.next || !equal(got, step.want...) {
			t.Fatalf("until %s: %v, %s, %v", step.until, got, next, err)
		}
	}
	if _, _, err := r.Read(testContext(t), ""); !errors.Is(err, connector.ErrIdle) {
		t.Fatal(err)
	}
	produceTo(t, kc, 0, ids(10, 12)...)
	if got, _, _ := readTo(t, r, "12"); !equal(got, 10, 11) {
		t.Fatal(got)
	}
	again := openReader(t, s, 1, "3")
	if got, next, err := readTo(t, again, "5"); err != nil || next != "5" || !equal(got, 103, 104) {
		t.Fatal(got, next, err)
	}
}

// A query that has read everything is woken by the next record.
func TestChanged(t *testing.T) {
	_, addr := cluster(t, 2)
	kc := kgoClient(t, addr)
	produceTo(t, kc, 0, ids(0, 2)...)
	s := open(t, idSpec(addr))
	r0, r1 := openReader(t, s, 0, ""), openReader(t, s, 1, "")
	if _, _, err := readTo(t, r0, "2"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r1.Read(testContext(t), ""); !errors.Is(err, connector.ErrIdle) {
		t.Fatal(err)
	}
	changed := s.Changed()
	if all, err := s.Latest(testContext(t), nil); err != nil || all["0"] != "2" || all["1"] != "0" {
		t.Fatal(all, err)
	}
	select {
	case <-changed:
		t.Fatal("woken by nothing")
	default:
	}
	produceTo(t, kc, 1, ids(0, 1)...)
	select {
	case <-changed:
	case <-testContext(t).Done():
		t.Fatal("not woken")
	}
	if all, err := s.Latest(testContext(t), nil); err != nil || all["1"] != "1" {
		t.Fatal(all, err)
	}
}
