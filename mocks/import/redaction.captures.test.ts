// Converts every exchange of the optional captures into a recording and back, both unchanged and redacted.
// The captures are real traffic of other projects. The test reads them in place, and deletes all files made
// from them.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import { createParser } from 'eventsource-parser'
import { createMatcher } from '../matching/match.ts'
import { type Recording, readRecordings } from '../recording/format.ts'
import { writeRecording } from '../recording/make.ts'
import { replay } from '../recording/test-replay.ts'
import { verifyRecordings } from '../recording/verify.ts'
import { isProviderName, isStructural } from '../redaction/vocabulary.ts'
import { draftImport } from './import.ts'
import type { Interaction } from './interaction.ts'
import { exchangesOf } from './read.ts'
import { atLeast, CAPTURES, captureFiles, withoutCaptures } from './test-captures.ts'

const SHAPE = `imported from a HAR file, sha256 ${'0'.repeat(16)}, exchange 1, sha256 ${'1'.repeat(16)}`

interface Row {
  exchanges: number
  /** Exchanges with a text body. */
  text: number
  imported: number
  equal: number
  redacted: number
  refused: Map<string, number>
}

test('every capture is imported or refused with a reason, replayed byte for byte, and redacted without a change of structure (REC-01, REC-03)', {
  skip: withoutCaptures,
}, async (t) => {
  const out = mkdtempSync(join(tmpdir(), 'imported-'))
  t.after(() => rmSync(out, { recursive: true }))
  const rows = new Map<string, Row>()
  const problems: string[] = []
  const toolArguments = { before: 0, after: 0 }

  for (const file of captureFiles()) {
    const folder = file.slice(0, file.indexOf('/'))
    const row = rows.get(folder) ?? newRow()
    rows.set(folder, row)
    for (const [i, interaction] of exchangesOf(file, readFileSync(join(CAPTURES, file))).entries()) {
      row.exchanges++
      if (textOf(interaction) !== null) row.text++
      let name: string
      let redacted: Recording
      try {
        const draft = draftImport(interaction, { shape: SHAPE, today: '2026-11-21' })
        name = writeRecording(out, draft)
        redacted = { ...draft.head, name, bytes: draft.bytes }
      } catch (error) {
        const reason = (error as Error).message
        row.refused.set(reason, (row.refused.get(reason) ?? 0) + 1)
        continue
      }
      row.imported++
      const original = { ...redacted, bytes: interaction.responseBody }
      const unequal = await differenceOf(original, interaction)
      if (unequal) problems.push(`${file}#${i + 1}: ${unequal}`)
      else row.equal++
      const left = await whatIsLeft(redacted, interaction)
      if (left) problems.push(`${file}#${i + 1}: redacted: ${left}`)
      else row.redacted++
      for (const text of argumentsIn(textOf(interaction)!)) toolArguments.before += Number(isJson(text))
      for (const text of argumentsIn(Buffer.from(redacted.bytes).toString()))
        toolArguments.after += Number(isJson(text))
    }
  }

  const all = newRow()
  for (const [folder, row] of rows) {
    t.diagnostic(`${folder}: ${summary(row)}`)
    for (const key of ['exchanges', 'text', 'imported', 'equal', 'redacted'] as const) all[key] += row[key]
    for (const [reason, count] of row.refused) all.refused.set(reason, (all.refused.get(reason) ?? 0) + count)
  }
  t.diagnostic(`all: ${summary(all)}`)
  t.diagnostic(`tool arguments that are JSON: ${toolArguments.before}, redacted: ${toolArguments.after}`)

  assert.deepEqual(problems, [])
  assert.ok(all.exchanges > atLeast(900), `only ${all.exchanges} exchanges were found`)
  assert.ok(all.imported >= all.text * 0.99, `only ${all.imported} of ${all.text} were imported`)
  assert.ok(toolArguments.before > atLeast(100))
  assert.equal(toolArguments.after, toolArguments.before)
  assert.equal(readRecordings(out).length, all.imported)
  assert.deepEqual(verifyRecordings(out), [])
})

const newRow = (): Row => ({ exchanges: 0, text: 0, imported: 0, equal: 0, redacted: 0, refused: new Map() })

const summary = ({ exchanges, text, imported, equal, redacted, refused }: Row): string =>
  `${exchanges} exchanges, ${text} with text, ${imported} imported, ${equal} byte-equal, ${redacted} redacted; refused: ${
    [...refused].map(([reason, count]) => `${count} × ${reason}`).join(', ') || 'none'
  }`

/** Returns the text of a body; null if the body is empty or not text. */
function textOf({ responseBody }: Interaction): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(responseBody) || null
  } catch {
    return null
  }
}

/** Requests a recording as a client would, and returns the chunks of the answer. */
async function ask(recording: Recording): Promise<Buffer[]> {
  const { provider, endpoint, request } = recording
  const { method, model, stream, scenario } = request
  const found = createMatcher([recording])({
    places: [
      {
        provider,
        endpoint,
        method,
        model,
        stream: stream ?? false,
        scenario,
      },
    ],
  })
  assert.ok('bytes' in found, 'differs' in found ? found.differs.join() : '')
  const chunks: Buffer[] = []
  for await (const chunk of (await replay(found, 'none')).body!) chunks.push(Buffer.from(chunk))
  return chunks
}

/** Describes the difference between the replayed original and the capture; null if they are equal. */
async function differenceOf(
  original: Recording,
  { responseBody, status }: Interaction,
): Promise<string | null> {
  const body = Buffer.concat(await ask(original))
  if (original.response.status !== status) return `status ${original.response.status}`
  if (!body.equals(responseBody)) return 'the bodies differ'
  const [got, sent] = [body, responseBody].map((bytes) => JSON.stringify(eventsOf(bytes.toString())))
  return got === sent ? null : 'the events differ'
}

/** Describes the text that redaction wrongly changed or left. */
async function whatIsLeft(redacted: Recording, interaction: Interaction): Promise<string | null> {
  const chunks = await ask(redacted)
  const sizes = redacted.response.chunks.map(([length]) => length)
  if (JSON.stringify(chunks.map(({ length }) => length)) !== JSON.stringify(sizes))
    return 'chunks of another size'
  const before = interaction.responseBody
  const after = Buffer.concat(chunks)
  if (after.length !== before.length) return `${after.length} bytes instead of ${before.length}`
  // Redaction does not move line breaks, so each boundary is at the same place of the same line.
  const breaks = (bytes: Buffer) =>
    bytes
      .toString('latin1')
      .split('\n')
      .map(({ length }) => length)
      .join()
  if (breaks(after) !== breaks(before)) return 'a line break moved'

  const [sent, got] = [before, after].map((bytes) => eventsOf(bytes.toString()))
  const shape = (events: typeof sent) =>
    JSON.stringify(events!.map(({ event, data }) => [event, Buffer.byteLength(data), isJson(data)]))
  if (shape(sent) !== shape(got)) return 'events of another shape'

  const left = new Set(after.toString().match(/[a-z]{8,}/gi))
  const models = [redacted.request.model ?? '', ...modelsIn(textOf(interaction)!)].join(' ')
  for (const word of textsOf(interaction).flatMap((text) => text.match(/[a-z]{8,}/gi) ?? []))
    if (left.has(word) && !isStructural(word) && !models.includes(word) && !/^x+$/i.test(word))
      return `the word ${word}`
  return null
}

function eventsOf(text: string): { event: string | undefined; data: string }[] {
  const events: { event: string | undefined; data: string }[] = []
  const parser = createParser({ onEvent: ({ event, data }) => events.push({ event, data }) })
  parser.feed(text)
  return events
}

const isJson = (text: string): boolean => parse(text) !== undefined

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** JSON values of a body: the whole body, or the data of its events. */
const valuesOf = (text: string): unknown[] => {
  const whole = parse(text)
  return whole === undefined ? eventsOf(text).map(({ data }) => parse(data)) : [whole]
}

/** Texts of an exchange that a person may have written, from all fields. */
function textsOf({ requestBody, responseBody }: Interaction): string[] {
  return [requestBody ?? '', responseBody.toString()].flatMap((body) => {
    const texts = valuesOf(body).flatMap((value) => leaves(value).map(({ value }) => value))
    return texts.length > 0 ? texts : [body]
  })
}

/** Public name of the company that a router reports as the server of a call. */
const isServer = (field: string, value: string): boolean => /provider$/i.test(field) && isProviderName(value)

const modelsIn = (text: string): string[] =>
  valuesOf(text).flatMap((value) =>
    leaves(value)
      .filter(({ field, value }) => /model|^(id|name)$/i.test(field) || isServer(field, value))
      .map(({ value }) => value),
  )

function leaves(value: unknown, field = ''): { field: string; value: string }[] {
  if (typeof value === 'string') return [{ field, value }]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) => leaves(inner, Array.isArray(value) ? field : name))
}

/** Arguments of each tool call, with the pieces of a stream joined. */
function argumentsIn(text: string): string[] {
  const joined = new Map<string, string>()
  const add = (key: string, piece: unknown) => {
    if (typeof piece === 'string') joined.set(key, (joined.get(key) ?? '') + piece)
  }
  for (const [n, value] of (valuesOf(text) as any[]).entries()) {
    for (const choice of value?.choices ?? []) {
      for (const [i, call] of (choice.message?.tool_calls ?? []).entries())
        add(`whole ${i}`, call.function?.arguments)
      for (const call of choice.delta?.tool_calls ?? [])
        add(`${choice.index} ${call.index ?? call.id}`, call.function?.arguments)
    }
    if (value?.delta?.partial_json !== undefined) add(`block ${value.index}`, value.delta.partial_json)
    if (/function_call_arguments\.delta$/.test(value?.type)) add(`item ${value.output_index}`, value.delta)
    for (const [i, item] of Object.entries<any>(value?.output ?? {})) add(`output ${n} ${i}`, item.arguments)
  }
  return [...joined.values()].filter((text) => text !== '')
}
