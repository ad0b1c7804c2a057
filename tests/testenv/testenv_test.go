package testenv_test

import (
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/streamsql/streamsql/tests/testenv"
)

func TestKafkaListens(t *testing.T) { dial(t, testenv.Kafka(t)) }

func TestPostgresListens(t *testing.T) {
	u, err := url.Parse(testenv.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	dial(t, u.Host)
}

func TestUniqueDiffers(t *testing.T) {
	if a, b := testenv.Unique(t, "x"), testenv.Unique(t, "x"); a == b {
		t.Fatalf("twice the same name: %s", a)
	}
}

func dial(t *testing.T, address string) {
	t.Helper()
	c, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}
