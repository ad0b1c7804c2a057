"""Writes the Parquet files of this folder with pyarrow 26; rows.ndjson are their rows.

    python3 write.py .
"""
import pyarrow as pa, pyarrow.parquet as pq, datetime as dt, decimal, uuid, sys
D=decimal.Decimal
out=sys.argv[1]
n=7
def col(vals): return [None if i%3==1 else vals[i%len(vals)] for i in range(n)]
utc=dt.timezone.utc
cols={
 'b': pa.array(col([True,False]), pa.bool_()),
 'i8': pa.array(col([-8,7]), pa.int8()), 'u8': pa.array(col([200,1]), pa.uint8()),
 'i16': pa.array(col([-30000,5]), pa.int16()), 'u16': pa.array(col([60000,1]), pa.uint16()),
 'i32': pa.array(col([-2**31,2**31-1]), pa.int32()), 'u32': pa.array(col([2**32-1,3]), pa.uint32()),
 'i64': pa.array(col([-2**63,2**63-1]), pa.int64()), 'u64': pa.array(col([2**64-1,3]), pa.uint64()),
 'f16': pa.array(col([1.5,-0.25]), pa.float16()), 'f32': pa.array(col([1.5,-0.1]), pa.float32()), 'f64': pa.array(col([0.1,1e300]), pa.float64()),
 's': pa.array(col(['é😀','', 'abc'])), 'ls': pa.array(col(['x','yy']), pa.large_string()),
 'bin': pa.array(col([b'\x00\xff',b'']), pa.binary()), 'fix': pa.array(col([b'abcd',b'\x00\x01\x02\x03']), pa.binary(4)),
 'dec9': pa.array(col([D('-1234.56'),D('0.01')]), pa.decimal128(9,2)), 'dec18': pa.array(col([D('-123456789012.345'),D('1.000')]), pa.decimal128(18,3)),
 'dec38': pa.array(col([D('-123456789012345678901234567890.12345'),D('5.00000')]), pa.decimal128(38,5)),
 'd': pa.array(col([dt.date(2026,1,2),dt.date(1969,12,31)]), pa.date32()),
 't32': pa.array(col([dt.time(1,2,3,4000),dt.time(0)]), pa.time32('ms')), 't64': pa.array(col([dt.time(23,59,59,999999)]), pa.time64('us')),
 'tns': pa.array(col([3723000004000]), pa.time64('ns')),
 'ts_ms': pa.array(col([1767323045678,-1]), pa.timestamp('ms')), 'ts_us': pa.array(col([1767323045678901,-1]), pa.timestamp('us')),
 'ts_ns': pa.array(col([1767323045678901234,-1]), pa.timestamp('ns')),
 'tz_ms': pa.array(col([1767323045678,-1]), pa.timestamp('ms','UTC')), 'tz_us': pa.array(col([1767323045678901,-1]), pa.timestamp('us','Europe/Berlin')),
 'tz_ns': pa.array(col([1767323045678901234,-1]), pa.timestamp('ns','UTC')),
 'u': pa.array(col([uuid.UUID('00112233-4455-6677-8899-aabbccddeeff').bytes]), pa.uuid()),
 'j': pa.array(col(['{"a": 1}','[1,null]']), pa.json_()),
 'dict': pa.array(col(['r','g','b'])).dictionary_encode(),
 'l': pa.array(col([[1,None,3],[],[4]]), pa.list_(pa.int32())),
 'll': pa.array(col([[[1],[],None,[2,3]],[],[[None]]]), pa.list_(pa.list_(pa.int64()))),
 'ls2': pa.array(col([['a',None,'b'],[]]), pa.list_(pa.string())),
 'm': pa.array(col([[('k',2.5),('q',None)],[]]), pa.map_(pa.string(),pa.float64())),
 'mi': pa.array(col([[(1,'x')],[]]), pa.map_(pa.int32(),pa.string())),
 'st': pa.array(col([{'x':1,'q':'z','in':{'y':[1,2]}},{'x':None,'q':'','in':None}]), pa.struct([('x',pa.int32()),('q',pa.string()),('in',pa.struct([('y',pa.list_(pa.int16()))]))])),
 'ls3': pa.array(col([[{'a':1,'b':'x'},None,{'a':None,'b':None}],[]]), pa.list_(pa.struct([('a',pa.int64()),('b',pa.string())]))),
 'req': pa.array(list(range(n)), pa.int64()),
 'nul': pa.array([None]*n, pa.null()),
}
fields=[pa.field(k,v.type,nullable=(k!='req')) for k,v in cols.items()]
t=pa.table(list(cols.values()), schema=pa.schema(fields))
def w(name,**kw):
    pq.write_table(t, f'{out}/{name}.parquet', **kw)
w('snappy'); w('none',compression='none',use_dictionary=False)
w('zstd_v2',compression='zstd',data_page_version='2.0',row_group_size=3)
w('gzip_crc',compression='gzip',write_page_checksum=True, data_page_size=1, row_group_size=5)
w('brotli_v2nodict',compression='brotli',data_page_version='2.0',use_dictionary=False)
w('lz4',compression='lz4', store_decimal_as_integer=True)
w('lists', use_compliant_nested_type=False)
ints=['i32','i64','u8','u32','u64','i16','i8','u16','ts_us','d']
strs=['s','ls','ls2.list.element','bin']
w('delta', use_dictionary=False, column_encoding={**{k:'DELTA_BINARY_PACKED' for k in ints},**{k:'DELTA_BYTE_ARRAY' for k in ['s','bin']},**{k:'DELTA_LENGTH_BYTE_ARRAY' for k in ['ls','ls2.list.element']}, 'f32':'BYTE_STREAM_SPLIT','f64':'BYTE_STREAM_SPLIT','b':'RLE','fix':'DELTA_BYTE_ARRAY','f16':'BYTE_STREAM_SPLIT','req':'BYTE_STREAM_SPLIT'})
t2=t.select(['i64','ts_ns','tz_ns','s'])
pq.write_table(t2, f'{out}/int96.parquet', use_deprecated_int96_timestamps=True)
pq.write_table(t.slice(0,0), f'{out}/empty.parquet')
pw=pq.ParquetWriter(f'{out}/nogroups.parquet', t.schema); pw.close()
