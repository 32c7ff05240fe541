// Tests every scenario over a real connection: its bytes, boundaries and end are as in the table, and its
// behaviour matches its name.
import assert from 'node:assert/strict'
import test, { describe, type TestContext } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { createParser } from 'eventsource-parser'
import { after, stray } from '../../src/shared/boundary.ts'
import { clock } from '../../src/shared/clock.ts'
import { framed } from '../answer.ts'
import { openai } from '../providers/openai.ts'
import { providers } from '../providers/registry.ts'
import { createWorld } from '../server/core.ts'
import { answerRequest } from '../server/intercept.ts'
import { askRaw, chatBody, drain, mockFor } from '../server/test-mock.ts'
import { findScenario, scenarios } from './registry.ts'

/** Uses no recordings, so that every scenario is made by code. */
const mockWithout = (t: TestContext) => mockFor(t, { recordings: [] })
const speech = openai.endpoints[0]!.speech!
const streaming = { stream: true, stream_options: { include_usage: true } }
const nameOf = (entry: string): string => entry.replace('-N', '-3')

interface Wire {
  /** First line of the response headers; empty without headers. */
  readonly first: string
  /** Chunks of the body: one for each HTTP chunk, or a single one for a body of known length. */
  readonly chunks: readonly Buffer[]
  /** True if the body ended properly. */
  readonly ended: boolean
  readonly error: string | null
  readonly text: string
}

/**
 * Sends a raw request, and reads all bytes from the connection. Gives up after `silence` ms without a byte,
 * or after `first` ms without the first byte.
 */
async function wire(
  t: TestContext,
  model: string,
  more: object = {},
  { silence = 10_000, first = 10_000 }: { silence?: number; first?: number } = {},
): Promise<Wire> {
  const mock = await mockWithout(t)
  const socket = askRaw(mock, chatBody(model, more))
  let timer = after(first, () => socket.destroy(), stray)
  socket.on('data', () => {
    timer.close()
    timer = after(silence, () => socket.destroy(), stray)
  })
  const ending = drain(socket)
  await mock.settled()
  while (mock.entries().length === 0 && !socket.destroyed) await new Promise(setImmediate)
  await mock.settled()
  if (mock.entries()[0]?.answer.complete) socket.end()
  const { bytes, error } = await ending
  timer.close()
  const raw = bytes.toString('latin1')
  const at = raw.indexOf('\r\n\r\n')
  const head = raw.startsWith('HTTP/1.1') ? raw.slice(0, at) : ''
  const body = head ? bytes.subarray(at + 4) : bytes
  const { chunks, ended } = /transfer-encoding: chunked/i.test(head)
    ? unchunk(body)
    : { chunks: [body], ended: body.length === Number(/content-length: (\d+)/i.exec(head)?.[1]) }
  const text = Buffer.concat(chunks).toString('utf8')
  return { first: head.split('\r\n')[0]!, chunks, ended, error: error?.code ?? null, text }
}

function unchunk(body: Buffer): { chunks: Buffer[]; ended: boolean } {
  const chunks: Buffer[] = []
  for (let at = 0; at < body.length; ) {
    const line = body.indexOf('\r\n', at)
    const size = Number.parseInt(body.toString('latin1', at, line), 16)
    if (size === 0) return { chunks, ended: true }
    chunks.push(body.subarray(line + 2, line + 2 + size))
    at = line + 2 + size + 2
  }
  return { chunks, ended: false }
}

/** Returns the data of every event. */
function eventsOf(text: string): string[] {
  const events: string[] = []
  createParser({ onEvent: ({ data }) => events.push(data) }).feed(text)
  return events
}

const contentOf = (events: readonly string[]): string =>
  events
    .filter((data) => data !== '[DONE]')
    .map((data) => JSON.parse(data).choices?.[0]?.delta.content ?? '')
    .join('')

const hexOf = (chunk: Uint8Array): string => Buffer.from(chunk).toString('hex')

// Compares without a message that shows the difference: for 32 KB, that message takes half a minute and 8 GB.
// Runs several scenarios at a time, because those that pause or fall silent take most of the time.
describe('each scenario is sent as the table says', { concurrency: 4 }, () => {
  for (const entry of Object.keys(scenarios))
    for (const stream of [false, true])
      test(`${entry}, ${stream ? 'streamed' : 'whole'}, is sent as the table says`, async (t) => {
        const name = nameOf(entry)
        const model = `scenario-${name}`
        const { scenario, number } = findScenario(name)!
        const wants = { model, stream, usage: true, tools: false }
        const played = scenario.play({ provider: openai, wants, speech, offered: [], number })!
        const isSilent = name.startsWith('silent')
        const patience = isSilent ? { silence: 300, first: played.status === null ? 60 : 10_000 } : {}
        const seen = await wire(t, model, stream ? streaming : {}, patience)
        const bytes = played.parts.filter((part) => part instanceof Uint8Array)
        const chunked = framed({ ...played, from: name })['transfer-encoding'] === 'chunked'
        const expected = chunked ? bytes : [Buffer.concat(bytes)]
        if (played.status === null || !chunked)
          assert.ok(isDeepStrictEqual(Buffer.concat(seen.chunks), Buffer.concat(bytes)), 'other bytes')
        else if (name !== 'flood')
          assert.ok(isDeepStrictEqual(seen.chunks.map(hexOf), expected.map(hexOf)), 'other chunks')
        else assert.equal(seen.chunks.length, expected.length)
        assert.match(seen.first, played.status === null ? /^$/ : new RegExp(`^HTTP/1\\.1 ${played.status} `))
        const last = played.parts.at(-1)!
        const broken = 'end' in last || ('wait' in last && last.wait === Number.POSITIVE_INFINITY)
        assert.equal(seen.ended, !broken)
        assert.equal(seen.error, 'end' in last && last.end === 'reset' ? 'ECONNRESET' : null)
      })
})

test('an answer that should take N seconds takes that long and ends properly', async (t) => {
  for (const options of [streaming, {}]) {
    const from = clock.monotonic()
    const { text, chunks } = await wire(t, 'scenario-lasts-1', options)
    const ms = clock.monotonic() - from
    assert.ok(ms >= 950, `${ms} ms`)
    if (options === streaming) {
      assert.ok(chunks.length > 10, `${chunks.length} events`)
      assert.equal(eventsOf(text).at(-1), '[DONE]')
    } else assert.match(JSON.parse(text).choices[0].message.content, /greets/)
  }
})

test('a parser reads the stream of every successful scenario up to [DONE]', async (t) => {
  for (const name of [
    'plain',
    'long',
    'tools-parallel',
    'huge-event',
    'many-events',
    'per-byte',
    'crlf',
    'pings',
  ])
    assert.equal(eventsOf((await wire(t, `scenario-${name}`, streaming)).text).at(-1), '[DONE]', name)
})

test('all chunking scenarios have the same text, split as their names say (FLOW-02)', async (t) => {
  const plain = await wire(t, 'scenario-plain', streaming)
  const text = contentOf(eventsOf(plain.text))
  const seen = new Map<string, Wire>()
  for (const name of ['per-byte', 'split-utf8', 'split-data', 'crlf', 'comments', 'pings', 'drip']) {
    const one = await wire(t, `scenario-${name}`, streaming)
    assert.equal(contentOf(eventsOf(one.text)), text, name)
    seen.set(name, one)
  }
  assert.ok(seen.get('per-byte')!.chunks.every(({ length }) => length === 1))
  assert.ok(
    seen
      .get('split-utf8')!
      .chunks.slice(1)
      .every((chunk) => chunk[0]! >> 6 === 0b10),
  )
  assert.ok(
    seen
      .get('split-data')!
      .chunks.slice(1)
      .every((chunk) => chunk.toString().startsWith('ta:')),
  )
  assert.ok(
    seen
      .get('crlf')!
      .chunks.slice(1)
      .some((chunk) => chunk.toString() === '\n'),
  )
  assert.ok(!/[^\r]\n/.test(seen.get('crlf')!.text))
  assert.match(seen.get('comments')!.text, /: a comment\n\n/)
  assert.match(seen.get('pings')!.text, /: keep-alive\n\n/)
})

test('each scenario sends the usage that its name says, and only on request', async (t) => {
  const usageIn = async (name: string, more: object) =>
    eventsOf((await wire(t, `scenario-${name}`, more)).text)
      .filter((data) => data !== '[DONE]')
      .map((data) => JSON.parse(data).usage)
      .find(Boolean)
  assert.equal((await usageIn('usage-cached', streaming)).prompt_tokens_details.cached_tokens, 1920)
  assert.equal((await usageIn('usage-zero', streaming)).total_tokens, 0)
  assert.equal(await usageIn('usage-missing', streaming), undefined)
  assert.equal(await usageIn('plain', { stream: true }), undefined)
  assert.equal((await usageIn('plain', streaming)).total_tokens, 27)
  assert.equal((await usageIn('reasoning', streaming)).completion_tokens_details.reasoning_tokens, 12)
})

test('each scenario has the finish reason and tool calls that its name says (FLOW-07, FLOW-08)', async (t) => {
  const finishOf = async (name: string): Promise<string> =>
    JSON.parse((await wire(t, `scenario-${name}`)).text).choices[0].finish_reason
  assert.equal(await finishOf('finish-length'), 'length')
  assert.equal(await finishOf('finish-content-filter'), 'content_filter')
  assert.equal(await finishOf('finish-tool-calls'), 'tool_calls')
  const joined = new Map<number, string>()
  for (const data of eventsOf((await wire(t, 'scenario-tools-parallel', streaming)).text).slice(0, -1))
    for (const { index, function: called } of JSON.parse(data).choices[0]?.delta.tool_calls ?? [])
      joined.set(index, (joined.get(index) ?? '') + called.arguments)
  assert.deepEqual(
    [...joined.values()].map((text) => JSON.parse(text).city),
    ['Vienna', 'São Paulo', '東京'],
  )
})

test('each fault breaks the stream at the point that gives the fault its name', async (t) => {
  assert.equal(eventsOf((await wire(t, 'scenario-cut-after-3', streaming)).text).length, 3)
  assert.match((await wire(t, 'scenario-cut-in-utf8', streaming)).text, /\ufffd$/)
  assert.match(eventsOf((await wire(t, 'scenario-error-in-stream', streaming)).text).at(-1)!, /^\{"error":/)
  assert.match((await wire(t, 'scenario-html')).text, /^<!doctype html>/)
  const { chunks } = await wire(t, 'scenario-gzip', streaming)
  assert.equal(eventsOf(gunzipSync(Buffer.concat(chunks)).toString()).at(-1), '[DONE]')
  assert.equal((await wire(t, 'scenario-reset-at-once')).text, '')
})

test('a fault that breaks connections also breaks intercepted requests', async () => {
  const world = createWorld({ recordings: [] })
  const askInside = (name: string) =>
    answerRequest(
      world,
      new Request('https://api.openai.com/v1/chat/completions', {
        method: 'POST',
        headers: { authorization: 'Bearer sk-mock-key-of-openai' },
        body: JSON.stringify(chatBody(`scenario-${name}`, { stream: true })),
      }),
    )
  for (const name of ['garbage', 'reset-at-once', 'cut-after-0'])
    assert.equal((await askInside(name)).type, 'error', name)
  for (const name of ['cut-after-3', 'reset', 'cut-in-utf8'])
    await assert.rejects((await askInside(name)).text(), /broke the connection/, name)
  await world.stage.settled()
  assert.ok(
    world.stage
      .entries()
      .every(
        ({ answer, peer_left_at }) => !answer.complete && answer.cut_at !== null && peer_left_at === null,
      ),
  )
})

test('every scenario works at every endpoint with a model', () => {
  for (const provider of providers)
    for (const { name, speech } of provider.endpoints)
      for (const [entry, scenario] of Object.entries(scenarios))
        for (const stream of [false, true]) {
          const wants = { model: 'm', stream, usage: true, tools: false }
          const played = scenario.play({ provider, wants, speech, offered: [], number: 2 })
          const where = `${entry} at ${provider.name} ${name}`
          if (speech) assert.ok(played && played.parts.length > 0, where)
          else assert.ok(played === null || played.parts.length > 0, where)
        }
})

test('a scenario is used only if its exact name is requested, with a number for N', () => {
  assert.equal(findScenario('cut-after-12')?.number, 12)
  assert.equal(findScenario('429')?.scenario, scenarios['429'])
  for (const name of ['cut-after-', 'nothing', 'toString', 'plain-3']) assert.equal(findScenario(name), null)
})
