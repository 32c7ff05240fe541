// Imports the optional captures with their answers and continues each conversation as a client would: what the replay
// said goes into the next request, in place of what the provider had said. Every request must still find its own
// recording. Also counts the values that a kept answer changed, with a comparison of its own.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import { classify } from '../matching/classify.ts'
import { createDigester } from '../matching/digest.ts'
import { createMatcher } from '../matching/match.ts'
import { placeAt, providers } from '../providers/registry.ts'
import { type Recording, readRecordings } from '../recording/format.ts'
import { type Blanked, writeRecording } from '../recording/make.ts'
import { hostName } from '../redaction/paths.ts'
import { draftImport } from './import.ts'
import type { Interaction } from './interaction.ts'
import { exchangesOf } from './read.ts'
import { atLeast, CAPTURES, captureFiles, withoutCaptures } from './test-captures.ts'

const KEY = 'a key of the test, of enough characters'
const digester = createDigester(KEY)

interface Kept {
  readonly source: string
  readonly interaction: Interaction
  readonly name: string
}

test('a conversation that continues with replayed answers finds each of its recordings (REC-03, REC-06)', {
  skip: withoutCaptures,
  timeout: 110_000,
}, (t) => {
  const out = mkdtempSync(join(tmpdir(), 'continued-'))
  t.after(() => rmSync(out, { recursive: true }))
  const sessions = captureFiles().map((file) => importKept(file, out))
  const recordings = readRecordings(out)
  const byName = new Map(recordings.map((one) => [one.name, one]))
  const find = createMatcher(recordings)
  const missed: string[] = []
  const changed = new Map<string, number>()
  const sums = { requests: 0, continued: 0, values: 0 }
  for (const session of sessions) {
    const said = new Map<string, string>()
    for (const { source, interaction, name } of session) {
      const own = byName.get(name)!
      const { body, fed } = withReplayed(interaction.requestBody, said)
      const digested = own.request.said ? digester(body, dateOf(interaction)) : null
      if (digested) {
        sums.requests++
        sums.continued += Number(fed)
        const found = find({ places: [placeOf(interaction, body)], said: digested })
        if (!('bytes' in found)) missed.push(`${source}: ${found.tied ?? found.differs}`)
        else if (!Buffer.from(found.bytes).equals(Buffer.from(own.bytes)))
          missed.push(`${source} is answered by ${found.name}`)
      }
      for (const [place, before, now] of pairs(interaction.responseBody.toString(), bodyOf(own))) {
        sums.values++
        if (before === now) continue
        const kind = kindOf(place, own.redaction?.blanked ?? {})
        if (!kind.startsWith('echoed')) said.set(before, now) // a client sends what the model said
        changed.set(kind, (changed.get(kind) ?? 0) + 1)
      }
    }
  }
  t.diagnostic(`${JSON.stringify(sums)}; changed: ${JSON.stringify(Object.fromEntries(changed))}`)
  assert.deepEqual(missed, [])
  assert.deepEqual(
    [...changed.keys()].filter((kind) => kind.startsWith('not named')),
    [],
  )
  assert.ok(sums.requests > atLeast(790) && sums.continued > atLeast(200), JSON.stringify(sums))
})

const dateOf = ({ responseHeaders }: Interaction): number => Date.parse(responseHeaders.date ?? '2026-01-01')
const bodyOf = ({ bytes }: Recording): string => Buffer.from(bytes).toString()

/** Imports the exchanges of a file that can be imported. */
function importKept(file: string, out: string): Kept[] {
  return exchangesOf(file, readFileSync(join(CAPTURES, file))).flatMap((interaction, i): Kept[] => {
    const exchange = i + 1
    const shape = `imported from a HAR file, sha256 ${'0'.repeat(16)}, exchange ${exchange}, sha256 ${'1'.repeat(16)}`
    try {
      const keep = { digester, text: false, request: false }
      const draft = draftImport(interaction, { shape, today: '2026-01-01', keep })
      return [{ source: `${file}#${exchange}`, interaction, name: writeRecording(out, draft) }]
    } catch (error) {
      const reason = (error as Error).message
      assert.match(reason, /not UTF-8 text|has no body|answers GET or POST/, `${file}#${exchange}: ${reason}`)
      return []
    }
  })
}

function placeOf({ url, host, path, method }: Interaction, body: unknown) {
  const found = URL.canParse(url) ? placeAt(providers, new URL(url)) : null
  const provider = found?.provider.name ?? hostName(host)
  return classify({ provider, method, path: found?.path ?? path, body: JSON.stringify(body) })
}

/** Returns the request with the replayed form of each text that an earlier answer of the session said. */
function withReplayed(
  text: string | null,
  said: ReadonlyMap<string, string>,
): { body: unknown; fed: boolean } {
  let fed = false
  const body = parse(text ?? '')
  const changed = JSON.stringify(body, (_, value) => {
    const now = typeof value === 'string' ? said.get(value) : undefined
    fed ||= now !== undefined
    return now ?? value
  })
  return { body: changed === undefined ? undefined : JSON.parse(changed), fed }
}

/** Pairs the values of two bodies of one form by their places; pieces of a stream also joined. */
function pairs(before: string, now: string): [place: string, before: string, now: string][] {
  const [a, b] = [valuesOf(before), valuesOf(now)]
  return [...a].map(([place, value]) => [place, value, b.get(place) ?? '(gone)'])
}

function valuesOf(body: string): Map<string, string> {
  const values = new Map<string, string>()
  const whole = parse(body)
  const events =
    whole === undefined ? body.split(/\r?\n/).map((line) => parse(line.replace(/^data: ?/, ''))) : [whole]
  const walk = (value: unknown, place: string, joined: string): void => {
    if (typeof value === 'string' || typeof value === 'number') {
      values.set(place, String(value))
      if (events.length > 1 && typeof value === 'string')
        values.set(`joined ${joined}`, (values.get(`joined ${joined}`) ?? '') + value)
    } else if (typeof value === 'object' && value !== null) {
      const { index, output_index } = value as { index?: unknown; output_index?: unknown }
      for (const [name, inner] of Object.entries(value))
        walk(inner, `${place}.${name}`, `${joined} ${index ?? ''} ${output_index ?? ''}.${name}`)
    }
  }
  if (events.every((event) => event === undefined)) values.set('text', body)
  for (const [i, event] of events.entries()) walk(event, String(i), '')
  return values
}

/** Names the kind of a changed value, if the recording names it. */
function kindOf(place: string, blanked: Blanked): string {
  const field = place.split('.').findLast((name) => !/^\d+$/.test(name)) ?? ''
  const kinds = Object.keys(blanked)
  if (kinds.includes('no call to a model')) return 'no call'
  if (/id$/i.test(field) && kinds.includes('ids')) return 'ids'
  const sealed = kinds.find((kind) => kind === `sealed ${field}`)
  if (sealed) return sealed
  const echoed = kinds.find((kind) => kind.startsWith('echoed ') && place.includes(`.${kind.slice(7)}`))
  if (echoed) return echoed
  const other = kinds.filter((kind) => !/^(?:sealed|echoed)/.test(kind))
  return other.length > 0 ? other.join(' or ') : `not named: ${field}`
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
