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
// Exactly once, the rows of an epoch are a transaction: begin takes the other one of the
// part's two transactional ids; keep copies each batch that the broker has taken to
// the outbox; Prepare marks the transaction with the epoch and gives what ends it to
// the checkpoint; Commit ends it, drops the copies and gets the id its next
// identity. After a crash Commit is the first call: it ends the dead transaction, or
// finds by the marker that it is committed, or writes it again from the outbox; Abort
// drops the other copies, and Open takes both ids over, which aborts what was not
// prepared.
//
// Offsets are the decimal number of the next record to read.
//
// Options of both ends:
//
//	brokers             host:port, …; the port is 9092 if left out
//	topic
//	tls                 on or off; tls_ca_file, tls_cert_file, tls_key_file: PEM files;
//	                    tls_server_name; tls_skip_verify
//	sasl_mechanism      plain, scram-sha-256 or scram-sha-512, with sasl_username and
//	                    sasl_password
//
// Options of a source:
//
//	starting_offsets    earliest (default), latest, timestamp:TIME (or milliseconds since
//	                    1970) or {"0": 12, "1": "latest"}: by partition an offset, -1 for
//	                    the latest, -2 for the earliest, or one of the words; those not
//	                    named begin at the earliest. It counts where there is no
//	                    checkpoint. Partitions that appear later are read from their start.
//	ending_offsets      latest, timestamp:TIME or offsets by partition; makes the source
//	                    bounded
//	on_data_loss        fail (default): an offset that the broker does not have is an
//	                    error; continue: go on at the nearest that it has, in a topic
//	                    that was recreated at its start, and note it in the bad rows
//	max_offsets_per_trigger  of a micro-batch, shared out over the partitions in proportion
//	                    to what they have to read
//	min_offsets_per_trigger  that a micro-batch waits for, for max_trigger_delay (15
//	                    minutes) at most
//	buffer_memory       bytes of records that one source reads ahead, 64 MB
//	max_batch_bytes     that one record batch may unpack to, 128 MB
//	fetch_max_bytes     of one answer of a broker, 32 MB
//	fetch_partition_max_bytes  of one partition in it, 4 MB
//	dead_letter         the topic for records that cannot be decoded; with it the
//	                    options of a sink that concern delivery and creation of topics
//
// Records in Avro and protobuf name their schemas in a registry: the schemas type
// looks them up once for all readers, in goroutines of its own, and a reader whose
// next record has a schema that is not known gives no rows until it is. A sink
// registers the schema of its columns when a writer opens.
//
// FORMAT PLAIN takes on_error = 'fail' | 'skip' | 'dead_letter' and the options of the encoding.
// Metadata columns are key (text, bytea), partition (integer, bigint), offset
// (bigint), timestamp (timestamptz, timestamp) and headers: jsonb, an object in
// which the last of several headers of one name counts and a value that is no
// text is written as bytea is; or an array of struct (name text, value bytea or
// text), which keeps all. A tombstone is no row.
//
// With FORMAT UPSERT a record's key has the columns of the primary key, in the encoding
// of KEY ENCODE, and a tombstone deletes the row; with FORMAT DEBEZIUM the value is a change
// that Debezium tells of. Rows then have ops; of a deleted row the key alone has values.
//
// Options of a sink:
//
//	key                 columns of the record's key, a JSON object; FORMAT UPSERT and
//	                    DEBEZIUM take the stream key by themselves
//	partition, timestamp, headers  columns that give these of the record, and are not in
//	                    its value: integer; timestamp; jsonb (an object) or array of
//	                    struct (name text, value bytea or text)
//	op_column           FORMAT PLAIN adds a field of this name, insert or delete
//	delivery            exactly_once (default) or at_least_once
//	transactional_id_prefix  streamsql; what transactional ids and groups begin with
//	transaction_timeout 5 minutes; then the broker aborts a transaction
//	outbox_max_bytes    of an epoch's output that is kept until it is committed, 1 GB
//	compression         none (default), gzip, snappy, lz4 or zstd
//	max_message_bytes   of a batch before compression, 1,000,000; a batch that the
//	                    broker finds too large is halved
//	buffer_memory       bytes not acknowledged, 32 MB
//	dead_letter         the topic for records that the topic does not take, and rows of
//	                    which no record can be made; both go in the epoch's transaction
//	create_topic        on: create the topics if they are missing, with partitions and
//	                    replication_factor (the broker's defaults if left out)
//
// FORMAT PLAIN writes inserts only, or both with op_column; UPSERT writes the row under its key and a
// tombstone for a deleted row; DEBEZIUM writes {"before":…,"after":…,"op":"c"},
// "u" for a row deleted and inserted again at once, "d" for a deleted one. Keyed
// records go to the partition that Kafka's own clients would choose, others to
// each in turn. A writer keeps to the number of partitions that it found.
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
//	    All sources of a factory have one budget besides; only a partition whose reader
//	    has nothing is fetched beyond it, a least fetch at a time.
//	K5  A broker that is away is waited for with growing pauses and told through
//	    Report; faults that waiting cannot heal are errors marked permanent.
//	K6  A buffer belongs to one goroutine at a time; one that a cancelled request
//	    may still be filling is never used again.
//	K7  A producer identity is used for one transaction: committing it again commits
//	    nothing else.
//	K8  A transactional id is taken over only after the checkpoint's epoch is settled,
//	    or to settle it; an epoch is in the topic if and only if its marker is.
//	K9  A batch is in the outbox before its epoch can be prepared, and leaves it after the
//	    epoch's commit has been answered.
//	K10 A record that the broker refuses leaves its partition before a later one is sent,
//	    which takes its sequence number; where there are dead letters it is among them in
//	    the same transaction.
//	K11 An offset is used with the topic that it was told of alone, which its id tells:
//	    in another of the same name the source fails, or begins at the start.
package kafka
