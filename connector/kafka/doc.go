// Package kafka reads and writes topics of Apache Kafka.
//
// It uses kafka-go for what a connection needs (dialling, TLS, SASL, version
// negotiation) and speaks Fetch and record batches itself: whole fetch buffers
// are decoded in place, straight into columns, and transactions are told apart
// as the Java client does, which kafka-go's reader does not.
//
// Life of a source: newSource parses the options and starts nothing; Splits asks
// for the partitions; Open subscribes one reader per partition to the fetcher;
// the fetcher runs one goroutine per leading broker, each with one long poll in
// flight for all its partitions, and puts record sets into the readers' queues;
// Read decodes them. Close ends the goroutines and the connections.
//
// Life of a sink: newSink parses the options; Open finds (or creates) the topic
// and returns a writer; Write encodes rows into one open record batch per
// partition; one goroutine per leading broker sends what is there whenever its
// last request is done, so that a lone row leaves at once and a flood in large
// batches; Prepare waits until all is acknowledged by all in-sync replicas.
//
// Offsets are the decimal number of the next record to read.
//
// Invariants:
//
//	K1  Records of aborted transactions and transaction markers are never rows, but
//	    they move the offset: a reader reaches every bound that Latest told.
//	K2  A row is read once: records below the reader's offset are skipped though a
//	    batch that begins earlier is delivered with them.
//	K3  Records of one partition are sent in the order of Write; a request that may
//	    be repeated is the only one in flight for its partition.
//	K4  Bytes in queues are bounded: a partition with a full queue is left out of
//	    the next fetch, and Write waits while the writer's buffers are full.
//	K5  A broker that is away is waited for with growing pauses and told through
//	    Report; faults that waiting cannot heal are errors marked permanent.
//	K6  A buffer belongs to one goroutine at a time; one that a cancelled request
//	    may still be filling is never used again.
package kafka
