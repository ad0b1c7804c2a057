// Package format turns bytes into batches and batches into bytes: JSON, CSV,
// lines of text, raw bytes, Avro, protobuf, Parquet.
//
// Life of a Decoder: New with the columns wanted; for files Begin at each file's
// start and Decode on every chunk; for messages Append on every message; Take
// hands out the rows so far as a batch and begins the next. Values go straight
// from the input into columns: there is no tree, no string and no allocation per
// record. Records of a binary encoding name their schemas: AddSchema makes the
// records of one readable.
//
// Where records are changes (Options.Changes), AppendRecord takes keys and values, and the
// batches have ops.
//
// Parquet has files, not records. Life of a ParquetReader: NewParquetReader reads what
// the file says of itself and finds what fills each column; SeekRow goes to a place;
// Read hands out batches; Close. A column of a row group is read page by page (column,
// pageReader), its levels are turned into NULLs, lists and structs (binding), its values
// copied as a whole. Life of a ParquetWriter: NewParquetSchema once, Create for each
// file, Write, Close.
//
// Life of an Encoder: NewEncoder with the columns; AppendHeader once, AppendRow
// for each row.
//
// Invariants:
//
//	F1  A record is a whole row or none: after an error every column stands where
//	    it stood before the record, and the records behind it are read.
//	F2  What is accepted does not depend on how the input is cut into chunks.
//	F3  Whether a JSON text is well-formed is checked in what is skipped as well as
//	    in what is read; whether a value fits its type only where it is read. A NULL
//	    in a NOT NULL column is found either way.
//	F4  A column may lag behind while a batch is filled: rows that it lacks are NULL.
//	    Take evens the columns out.
//	F5  No input makes a decoder panic or recurse deeper than maxDepth.
//	F6  Package format asks nobody: a record of a schema that is not known is told as
//	    *UnknownSchema, and the caller brings the schema. What a schema says about
//	    the columns is found out once for each schema, not for each record.
//	F7  Where records are changes, an Insert is a whole row and of a Delete the key's
//	    columns alone have values, which are never NULL.
package format
