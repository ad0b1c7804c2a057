// Runs statements through node-postgres; the argument is the server's URL. The
// line protocol is that of common.py.
'use strict'

const readline = require('readline')
const pg = require('pg')

const DATE = 1082
const TIMESTAMP = 1114

function show(v, oid) {
  if (v === null || v === undefined) return null
  if (typeof v === 'boolean') return v ? 't' : 'f'
  if (Buffer.isBuffer(v)) return '\\x' + v.toString('hex')
  if (v instanceof Date) {
    const iso = v.toISOString()
    if (oid === DATE) return iso.slice(0, 10)
    const text = iso.slice(0, 19).replace('T', ' ') + iso.slice(19, 23).replace(/\.?0+$/, '')
    return oid === TIMESTAMP ? text : text + '+00'
  }
  if (Array.isArray(v)) return '{' + v.map((x) => (x === null ? 'NULL' : show(x))).join(',') + '}'
  if (typeof v === 'object') return json(v)
  return String(v)
}

// json prints as PostgreSQL's jsonb does, with blanks.
function json(v) {
  if (Array.isArray(v)) return '[' + v.map(json).join(', ') + ']'
  if (v === null || typeof v !== 'object') return JSON.stringify(v)
  return '{' + Object.entries(v).map(([k, x]) => JSON.stringify(k) + ': ' + json(x)).join(', ') + '}'
}

async function run(client, { sql, args }) {
  try {
    const r = await client.query({ text: sql, values: args || [], rowMode: 'array' })
    if (r.fields.length === 0) return { count: r.rowCount === null ? -1 : r.rowCount }
    return {
      columns: r.fields.map((f) => f.name),
      rows: r.rows.map((row) => row.map((v, i) => show(v, r.fields[i].dataTypeID))),
    }
  } catch (e) {
    if (!e.code || e.code.length !== 5) throw e
    return { code: e.code, message: e.message }
  }
}

async function main() {
  const client = new pg.Client({ connectionString: process.argv[2] })
  await client.connect()
  for await (const line of readline.createInterface({ input: process.stdin })) {
    console.log(JSON.stringify(await run(client, JSON.parse(line))))
  }
  await client.end()
}

main().catch((e) => {
  console.error(e)
  process.exit(1)
})
