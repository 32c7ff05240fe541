// The optional captures imported and then asked for again, each by the request that it came from, through interception:
// every exchange, errors included, must get its own answer. And nothing of them may be in what was written: no
// credential, id, private name, and no text of a prompt or an answer.
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { interceptProviders } from '../intercept.ts'
import { hostName } from '../paths.ts'
import { readRecordings } from '../recording.ts'
import { verifyRecordings } from '../verify.ts'
import { importRecordings } from './import.ts'
import type { Interaction } from './interaction.ts'
import { exchangesOf } from './read.ts'

const dir =
  process.env.WAYBILL_CASSETTES ?? fileURLToPath(new URL('../../../shared/cassettes', import.meta.url))
const skip = existsSync(dir) ? false : `no optional captures in ${dir}; see WAYBILL_CASSETTES`

interface Asked {
  readonly source: string
  readonly name: string
  readonly interaction: Interaction
}

test('every capture that was imported is the answer to its own request, errors too (REC-02, REC-03)', {
  skip,
  timeout: 110_000,
}, async (t) => {
  const out = mkdtempSync(join(tmpdir(), 'replayed-'))
  t.after(() => rmSync(out, { recursive: true }))
  const files = readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(ya?ml|har)$/.test(file))
    .sort()
  const asked: Asked[] = []
  const refused = new Map<string, number>()
  for (const [i, done] of importRecordings(
    files.map((file) => join(dir, file)),
    { out, today: '2026-11-22' },
  ).entries()) {
    const exchanges = exchangesOf(files[i]!, readFileSync(join(dir, files[i]!)))
    for (const { exchange, name } of done.written)
      asked.push({ source: `${files[i]}#${exchange}`, name, interaction: exchanges[exchange - 1]! })
    for (const reason of done.refused) {
      const why = reason.replace(/^exchange \d+: /, '')
      refused.set(why, (refused.get(why) ?? 0) + 1)
    }
  }
  assert.ok(asked.length > 790, `only ${asked.length} were imported`)
  assert.deepEqual(verifyRecordings(out), [])

  const recordings = new Map(readRecordings(out).map((one) => [one.name, one]))
  const interception = interceptProviders({ recordings: out, pace: 'none', loopback: 'recorded' })
  t.after(() => interception.dispose())
  const missed: string[] = []
  const rows = new Map<string, { asked: number; equal: number; errors: number; errorsEqual: number }>()
  for (const { source, name, interaction } of asked) {
    const { response, bytes } = recordings.get(name)!
    const answer = await ask(interaction)
    const equal = answer.status === response.status && answer.body.equals(Buffer.from(bytes))
    const folder = source.slice(0, source.indexOf('/'))
    const row = rows.get(folder) ?? { asked: 0, equal: 0, errors: 0, errorsEqual: 0 }
    rows.set(folder, row)
    row.asked++
    row.equal += Number(equal)
    row.errors += Number(response.status >= 400)
    row.errorsEqual += Number(equal && response.status >= 400)
    if (!equal) missed.push(`${source} (${name}): ${answer.status} ${answer.body.toString().slice(0, 300)}`)
  }
  for (const [folder, row] of rows) t.diagnostic(`${folder}: ${JSON.stringify(row)}`)
  t.diagnostic(`refused: ${JSON.stringify(Object.fromEntries(refused))}`)
  assert.deepEqual(missed, [])
})

/** Sends a captured request again, as its client did. */
async function ask({ url, host, path, method, requestHeaders, requestBody }: Interaction) {
  // A recorder's placeholder is no host: the client that is replayed has a real one.
  const place = url.replaceAll('<AWS_REGION>', 'us-east-1')
  const address = URL.canParse(place) ? place : `https://${hostName(host)}${path}`
  const headers = Object.fromEntries(
    Object.entries(requestHeaders).filter(
      ([name, value]) =>
        /^(content-type|accept|anthropic-|openai-|x-goog-)/.test(name) && !/[^\x20-\x7e]/.test(value),
    ),
  )
  const answer = await fetch(address, {
    method,
    headers: { 'anthropic-version': '2023-06-01', 'content-type': 'application/json', ...headers },
    body: method === 'GET' ? null : requestBody,
  })
  return { status: answer.status, body: Buffer.from(await answer.arrayBuffer()) }
}
