// Package slt runs files of statements through a whole server and compares the
// results with what the files expect, which is what PostgreSQL answers.
//
// A file in testdata is a list of blocks with blank lines between them:
//
//	sql
//	SELECT a FROM t
//	----
//	a:int4
//	1
//
// The first line is a word: sql compares the rows as a set, ordered compares them
// in order, own is for what PostgreSQL does not have or does otherwise. After the
// dashes come the columns' names and types and a line per row, with fields
// separated by tabs and NULL for NULL; or OK for a statement without a result; or
// ERROR, the SQLSTATE and the message. Lines before the first block and lines
// that begin with # are comments.
//
// With the variable STREAMSQL_TEST_PG set to the URL of a PostgreSQL server the
// files run there instead, own blocks left out, so that it is known whose the
// results are; with -rewrite as well, the results there become what the files
// expect. Without the variable -rewrite fills in own blocks.
package slt
