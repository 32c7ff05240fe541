// Imports the optional captures, and then sends each captured request through interception. Every request
// must get its own answer, errors included. The written files must contain nothing private: no credential, id
// or private name, and no text of a prompt or an answer.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import { readRecordings } from '../recording/format.ts'
import { verifyRecordings } from '../recording/verify.ts'
import { hostName } from '../redaction/paths.ts'
import { isProviderName, isStructural } from '../redaction/vocabulary.ts'
import { interceptProviders } from '../server/intercept.ts'
import { importRecordings } from './import.ts'
import type { Interaction } from './interaction.ts'
import { exchangesOf } from './read.ts'
import { atLeast, CAPTURES, captureFiles, withoutCaptures } from './test-captures.ts'

interface Asked {
  readonly source: string
  readonly name: string
  readonly interaction: Interaction
}

test('every imported capture, including errors, is the answer to its own request (REC-02, REC-03)', {
  skip: withoutCaptures,
}, async (t) => {
  const out = mkdtempSync(join(tmpdir(), 'replayed-'))
  t.after(() => rmSync(out, { recursive: true }))
  const files = captureFiles()
  const asked: Asked[] = []
  const refused = new Map<string, number>()
  for (const [i, done] of importRecordings(
    files.map((file) => join(CAPTURES, file)),
    { out, today: '2026-11-22' },
  ).entries()) {
    const exchanges = exchangesOf(files[i]!, readFileSync(join(CAPTURES, files[i]!)))
    for (const { exchange, name } of done.written)
      asked.push({ source: `${files[i]}#${exchange}`, name, interaction: exchanges[exchange - 1]! })
    for (const reason of done.refused) {
      const why = reason.replace(/^exchange \d+: /, '')
      refused.set(why, (refused.get(why) ?? 0) + 1)
    }
  }
  const searched = { texts: 0, credentials: 0, words: 0 }
  const leaks = asked.flatMap((one) => leaksIn(writtenOf(one, out), one, searched))
  // Proves that the search works: it must find something in the text before redaction.
  const caught = asked.filter(
    (one) => leaksIn(one.interaction.responseBody.toString(), one, { ...searched }).length > 0,
  )
  assert.ok(
    caught.length > asked.length * 0.8,
    `the search finds something in ${caught.length} of ${asked.length}`,
  )
  t.diagnostic(`looked for in what was written: ${JSON.stringify(searched)}; found: ${leaks.length}`)
  assert.deepEqual(leaks, [])
  assert.ok(
    searched.texts > atLeast(10_000) &&
      searched.credentials > atLeast(300) &&
      searched.words > atLeast(10_000),
    'too little was looked for',
  )
  assert.ok(asked.length > atLeast(790), `only ${asked.length} were imported`)
  assert.deepEqual(verifyRecordings(out), [])

  const recordings = new Map(readRecordings(out).map((one) => [one.name, one]))
  const interception = interceptProviders({ recordings: out, pace: 'none', loopback: 'recorded' })
  t.after(() => interception.dispose())
  const missed: string[] = []
  const taken = new Set<string>()
  const rows = new Map<string, { asked: number; equal: number; errors: number; errorsEqual: number }>()
  for (const { source, name, interaction } of asked) {
    const { response, bytes } = recordings.get(name)!
    const answer = await ask(interaction)
    const recorded = Buffer.from(bytes).toString()
    const ids = recorded.match(ID) ?? []
    // A response whose id is taken gets new ids.
    const compared = ids.some((id) => taken.has(id)) ? withoutIds : (text: string) => text
    for (const id of ids) taken.add(id)
    const equal = answer.status === response.status && compared(answer.body.toString()) === compared(recorded)
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

const ID = /"(?:resp|msg)_\w+"/g
const withoutIds = (text: string): string => text.replace(ID, '"id"')

/** Sends a captured request again in the same way as its client. */
async function ask({ url, host, path, method, requestHeaders, requestBody }: Interaction) {
  // A placeholder that a recorder wrote is not a host, but the replayed client needs a real host.
  const address = URL.canParse(url) ? url : `https://${hostName(host)}${path}`
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

/** All parts of a recording that could reveal something: its body, its names, and the values of its metadata. */
function writtenOf({ name }: Asked, out: string): string {
  // Metadata values that could be private. Fixed words, the note and the content type cannot be private.
  const { note: _, response, ...head } = JSON.parse(readFileSync(join(out, `${name}.json`), 'utf8'))
  const { 'content-type': __, ...headers } = response.headers
  const told = below({ ...head, headers }, '').map(({ text }) => text)
  const body = readFileSync(join(out, name, '..', response.body), 'utf8')
  return [name, response.body, ...told, ...Object.keys(head.request.fields ?? {}), body].join('\n')
}

/** Private parts of an exchange that a text contains. */
function leaksIn(
  written: string,
  { source, interaction }: Asked,
  searched: Record<string, number>,
): string[] {
  const lower = new Set(written.toLowerCase().match(/[a-z]{8}[a-z]*/g))
  const { requestHeaders, responseHeaders, url, host, requestBody, responseBody } = interaction
  const found: string[] = []
  const leaves = [requestBody ?? '', responseBody.toString()].flatMap(leavesOf)
  const models = leaves.filter(({ field, text }) => /model|^(id|name)$/i.test(field) || isProviderName(text))
  const public_ = `${models.map(({ text }) => text).join(' ')} ${decodeURIComponent(url)}`.toLowerCase()
  for (const { field, text } of leaves) {
    const isId =
      /^(id|.*_id|.*Id|system_fingerprint)$/.test(field) && text.length >= 12 && !/model/i.test(field)
    if (
      !isId &&
      (text.length < 12 || isStructural(text.replace(/\[\d*\]/g, '')) || /^\d{4}-\d\d-\d\d/.test(text))
    )
      continue
    if (!isId && models.some((one) => one.text === text)) continue
    if (/REDACTED/.test(text) || public_.includes(text.toLowerCase())) continue
    searched.texts!++
    if (written.includes(text) || written.includes(JSON.stringify(text).slice(1, -1)))
      found.push(`${source}: the text of ${field}: ${text.slice(0, 60)}`)
  }
  for (const [header, value] of [...Object.entries(requestHeaders), ...Object.entries(responseHeaders)]) {
    if (!/auth|key|token|cookie|secret|organi[sz]ation|project|account|request-id|cf-ray/.test(header))
      continue
    for (const piece of value.split(/[\s;,=]+/)) {
      if (
        piece.length < 8 ||
        /REDACTED|^\d{4}-|^[<\d.:msh-]+$/.test(piece) ||
        isStructural(piece) ||
        public_.includes(piece)
      )
        continue
      searched.credentials!++
      if (written.includes(piece)) found.push(`${source}: header ${header}: ${piece}`)
    }
  }
  const customer = /^([\w-]+)\.(?:openai|services\.ai)\.azure\.com$/.exec(host)?.[1]
  const project = /\/projects\/([^/]+)/.exec(url)?.[1]
  for (const owner of [customer, project])
    if (owner && written.includes(owner)) found.push(`${source}: ${owner}`)
  for (const word of leaves.flatMap(({ text }) => text.match(/[a-z]{8,64}/gi) ?? [])) {
    if (isStructural(word) || /^x+$/i.test(word) || public_.includes(word.toLowerCase())) continue
    searched.words!++
    if (lower.has(word.toLowerCase())) found.push(`${source}: the word ${word}`)
  }
  return [...new Set(found)]
}

interface Leaf {
  readonly field: string
  readonly text: string
}

/** Texts of a body: those in its JSON or in the JSON of its events; without JSON, the body itself. */
function leavesOf(body: string): Leaf[] {
  const whole = parse(body)
  const values =
    whole === undefined ? body.split(/\r?\n/).map((line) => parse(line.replace(/^data: ?/, ''))) : [whole]
  const isText = values.every((value) => value === undefined)
  return isText ? [{ field: 'body', text: body }] : values.flatMap((value) => below(value, ''))
}

function below(value: unknown, field: string): Leaf[] {
  if (typeof value === 'string') return [{ field, text: value }]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) => below(inner, Array.isArray(value) ? field : name))
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
