// Counts false matches and misses on the optional captures. Each request is compared with the recordings of
// all other requests. It is also compared with its own recording, in the form in which its client would send
// it on another day. Nothing is written.
import assert from 'node:assert/strict'
import test from 'node:test'
import { atLeast, type Capture, capturedCalls, withoutCaptures } from '../import/test-captures.ts'
import { placeAt, providers } from '../providers/registry.ts'
import type { Recording } from '../recording/format.ts'
import { hostName } from '../redaction/paths.ts'
import { classify } from './classify.ts'
import { createDigester, type DigestedRequest } from './digest.ts'
import { createMatcher, type MatchInput } from './match.ts'

const digester = createDigester('a key of the test, of enough characters')

interface Call {
  readonly folder: string
  readonly place: MatchInput
  readonly body: Record<string, unknown>
  readonly at: number
  readonly digested: DigestedRequest
  readonly recording: Recording
}

function callOf({ name, interaction }: Capture, index: number): Call[] {
  const { url, host, path, method, requestBody, responseHeaders, status, responseBody } = interaction
  const body = parse(requestBody)
  const at = Date.parse(responseHeaders.date ?? '2026-01-01')
  const digested = digester(body, at)
  if (!digested) return []
  const found = URL.canParse(url) ? placeAt(providers, new URL(url)) : null
  const provider = found?.provider.name ?? hostName(host)
  const place = classify({ provider, method, path: found?.path ?? path, body: requestBody })
  const { endpoint, model, stream, scenario } = place
  const request = { method, path, model, stream, scenario, order: index + 1, said: digested.said }
  const recording = { name, provider, endpoint, request, response: { status }, bytes: responseBody }
  return [
    { folder: name.split('/')[0]!, place, body, at, digested, recording: recording as unknown as Recording },
  ]
}

function parse(text: string | null): Record<string, unknown> {
  try {
    return JSON.parse(text ?? '')
  } catch {
    return null as never
  }
}

/**
 * Returns the same request as sent in another run: with other ids, other line ends, and tools and members in
 * another order.
 */
const another = ({ body }: Call): unknown =>
  Object.fromEntries(Object.entries(body).map(([name, value]) => [name, turned(name, value)]))

function turned(field: string, whole: unknown): unknown {
  const reviver = (name: string, value: any): any => {
    const isMessage = /^(?:messages|input|contents)$/.test(field)
    if (isMessage && /^(?:id|call_id|tool_call_id|tool_use_id)$/.test(name) && typeof value === 'string')
      return `call_${value.split('').toReversed().join('')}`
    if (typeof value === 'string' && !/^[{[]/.test(value)) return value.replaceAll('\n', '\r\n')
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return Object.fromEntries(Object.entries(value).toReversed())
    return value
  }
  const read = JSON.parse(JSON.stringify(whole), reviver)
  return field === 'tools' && Array.isArray(read) ? read.toReversed() : read
}

test('no captured request gets another capture’s answer, and each gets its own answer on another day (REC-06)', {
  skip: withoutCaptures,
}, (t) => {
  const calls = capturedCalls(/./).flatMap(callOf)
  const all = calls.map(({ recording }) => recording)
  const columns = ['requests', 'own', 'misses', 'wrong', 'answered by another', 'falsely', 'similar'] as const
  const rows = new Map<string, Record<(typeof columns)[number], number>>()
  const problems: string[] = []
  for (const call of calls) {
    const row = rows.get(call.folder) ?? (Object.fromEntries(columns.map((name) => [name, 0])) as never)
    rows.set(call.folder, row)
    row.requests++
    const asking = (recordings: readonly Recording[], said: DigestedRequest) =>
      createMatcher(recordings)({ places: [call.place], said })
    const own = asking(all, digester(another(call), call.at)!)
    if (!('bytes' in own)) {
      row.misses++
      problems.push(`${call.recording.name}: missed; ${own.tied ?? own.differs}`)
    } else if (isSame(own, call)) row.own++
    else {
      row.wrong++
      problems.push(`${call.recording.name}: answered by ${own.name}`)
    }
    const others = asking(
      all.filter((one) => one !== call.recording),
      call.digested,
    )
    const near = createMatcher(all.filter((one) => one !== call.recording))({
      places: [call.place],
      said: call.digested,
      similar: true,
    })
    row.similar += Number(!('bytes' in others) && 'bytes' in near)
    if (!('bytes' in others)) continue
    row['answered by another']++
    if (isSame(others, call)) continue
    row.falsely++
    problems.push(`${call.recording.name}: without its recording answered by ${others.name}`)
  }
  for (const [folder, row] of rows) t.diagnostic(`${folder}: ${JSON.stringify(row)}`)
  for (const problem of problems.slice(0, 60)) t.diagnostic(problem)
  const sum = (name: (typeof columns)[number]) => [...rows.values()].reduce((all, row) => all + row[name], 0)
  assert.ok(sum('requests') > atLeast(700), `only ${sum('requests')} requests`)
  assert.deepEqual([sum('misses'), sum('wrong'), sum('falsely')], [0, 0, 0])

  /** Returns the members of a request without ids, to compare requests independently of the rules under test. */
  function isSame(recording: Recording, call: Call): boolean {
    const other = calls.find((one) => one.recording === recording)!
    return plain(other.body) === plain(call.body)
  }
})

/** Returns a body as text with sorted members, without ids and without members that do not affect the answer. */
function plain(body: unknown): string {
  return JSON.stringify(body, (name, value) => {
    if (
      /^(?:id|call_id|tool_call_id|tool_use_id|cache_control|signature|thoughtSignature|encrypted_content|metadata|user)$/.test(
        name,
      )
    )
      return undefined
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
  })
}
