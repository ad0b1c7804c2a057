package testenv

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"strings"
	"testing"
)

// Kafka returns the bootstrap address (host:port) of the test broker.
func Kafka(t testing.TB) string {
	t.Helper()
	return need(t, "STREAMSQL_TEST_KAFKA", "scripts/kafka")
}

// KafkaSASL returns the address at which the same broker wants user tester with the
// password secret, by PLAIN or SCRAM.
func KafkaSASL(t testing.TB) string {
	t.Helper()
	Kafka(t)
	return need(t, "STREAMSQL_TEST_KAFKA_SASL", "scripts/kafka")
}

// Postgres returns the URL of a superuser's connection to the test server.
func Postgres(t testing.TB) string {
	t.Helper()
	return need(t, "STREAMSQL_TEST_PG", "scripts/postgres")
}

// Unique returns prefix with a random ending, a name in lower-case letters,
// digits and underscores.
func Unique(t testing.TB, prefix string) string {
	t.Helper()
	var b [6]byte
	if _, err := rand.Read(b[:]); err != nil {
		t.Fatal(err)
	}
	return strings.ToLower(prefix) + "_" + hex.EncodeToString(b[:])
}

func need(t testing.TB, variable, script string) string {
	t.Helper()
	if v := os.Getenv(variable); v != "" {
		return v
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s is not set and CI=true: tests must be run by make, which starts %s", variable, script)
	}
	t.Skipf(`%s is not set: run "make test", or eval "$(%s env)" after "%s start"`, variable, script, script)
	return ""
}
