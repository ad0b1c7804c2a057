// Package file reads files as a source and writes them as a sink.
//
// Life of a source: a path names a file, a directory or a pattern. Its files are
// read one after the other, in the order of their names or of their modification
// times, each from its first record to its last; a directory or pattern is watched
// for new files, a single file ends the source unless it is tailed. A file is
// expected to be complete when its name appears: write it under another name
// (.x, _x, x.tmp) and rename it.
//
// Life of a sink: each part writes rows to files of the directory _staging, one for
// each partition in work. Prepare syncs them and tells which are complete; the others
// are written on in the next epoch. Commit gives the complete ones their names,
// a=x/b=y/part-<epoch>-<part>, and then enters them in the manifest, by a file
// _manifest/<epoch>.ndjson that lists them; ten such files become one, ten of those
// one again. After a restart Commit does what is left to do, and Abort removes what is
// in no checkpoint and cuts the files that were open to what is; the first epoch
// completes them. The file _manifest/owner says whose directory it is.
//
// A Parquet file is not read by records but in batches of columns; a place in it is the
// number of a row.
//
// FORMAT DEBEZIUM ENCODE JSON reads changes of rows, one record each.
//
// Options of a source, beside those of the format and on_error:
//
//	path                   a file, a directory (not what is below it), or a pattern
//	tail = false           wait for more of a single file instead of ending
//	watch = true           look for new files in a directory or pattern
//	order = 'name'         the order of the files that are there, or 'mtime'
//	splits = 1             how many readers share the files
//	max_files_per_trigger  new files of an epoch; 0, the default: all
//	poll_interval          how often is looked for files, 1 ms to 1 s; 200 ms
//	batch_rows, batch_bytes, max_record_bytes  8192, 1 MB, 16 MB
//
// Options of a sink, beside those of the format:
//
//	path                   a directory
//	partition_by           columns that directories stand for
//	max_file_size          when a file is complete within an epoch; 0, the default: never
//	roll_interval          how long a file is written, over epochs; 0, the default: one
//	compression = 'none'   gzip or zstd; of Parquet the pages: snappy, zstd, gzip or none
//	row_group_size         of Parquet, in rows; 131072
//	max_open_files = 64    descriptors of a part
//	op_column              a text column for 'insert' or 'delete' where the query changes
//	                       rows
//
// A sink always writes a directory: a single file that grows could be read in the
// middle of a row.
//
// Invariants:
//
//	L1  An offset names every file that has been read, with its size, and the place
//	    in the one in work with a check of the bytes before it. A file that is not
//	    what it was is an error, never a second reading or a gap.
//	L2  A place in a file lies between two records, of a table between two rows.
//	L3  Files that appear are read once, also when their names come before those of
//	    files that have been read.
//	L4  A sink never replaces a file and never leaves a part of a row.
//	L5  A file is in the manifest only when it is durable under its name, with all
//	    files of its epoch. It never changes after that.
//	L6  What a checkpoint knows of is durable: files, their names, and the directories
//	    above them.
//	L7  Between two steps of a sink on the file system, its process may end: the next
//	    one shows each row of the checkpoint once, now or later, and no other.
//	L8  A sink writes only to a directory that says it is its own and has exactly the
//	    epochs that the checkpoint knows of.
package file
