// Command streamsql is a streaming SQL engine that speaks the Postgres wire
// protocol: a server (serve), a runner of scripts (run) and a demonstration (demo)
// in one static binary.
package main
