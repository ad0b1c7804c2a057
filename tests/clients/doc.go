// Package clients runs statements through real PostgreSQL clients in several
// languages against a server: psql, pgx (Go), psycopg and pg8000 (Python),
// node-postgres (JavaScript) and pgjdbc (Java).
//
// Each driver but pgx is a program that answers statements line by line, those of
// other languages under drivers/; all of them must give what testdata says, whatever protocol and formats they
// choose. The server is the one at STREAMSQL_TEST_SERVER (a URL), else one that
// the test builds from cmd/streamsql and starts. setup installs the drivers.
package clients
