// Package testenv gives tests the real services that `make test` starts: an
// Apache Kafka broker and a PostgreSQL server, each shared by all tests of a run.
//
// A service that is not there skips the test, with how to get it; with CI=true
// it fails the test, so that a green run has tried them. Tests name their topics,
// schemas and slots by Unique and leave nothing that another test could meet.
package testenv
