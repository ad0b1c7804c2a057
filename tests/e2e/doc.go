// Package e2e proves the promises of the program from outside: the tests build
// cmd/streamsql, run it as its users do, and compare what it says with what
// PostgreSQL says of the same rows, through a real Kafka broker where one is
// between.
//
// Environment, beside that of package testenv:
//
//	STREAMSQL_TEST_DATA    folder of flights.ndjson, airports.csv and
//	                       earthquakes.ndjson in full, instead of the excerpts in
//	                       testdata
//	STREAMSQL_CRASH_RUNS   how often the crash test kills the server (15)
//	STREAMSQL_POISON       records in each topic of the test of garbage (12,000; 1,000,000
//	                       in full)
//	STREAMSQL_GARBAGE      MB in each topic of the test of nothing but garbage (480)
package e2e
