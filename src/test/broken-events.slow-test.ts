// A million mutated events (a tenth in a quick run) through each of the three readers in this process: of a client's WebSocket, of the
// gateway's own store, and of a provider (half of them over HTTP, half over a WebSocket). None throws, and none hangs.
// WAYBILL_FUZZ sets the number of events, and WAYBILL_FUZZ_SEED repeats those of a seed. A failure names the seed of
// its stream; with WAYBILL_FUZZ=1, only this stream is read again.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { renameEvent } from '../call/answer.ts'
import { chat } from '../dialects/chat/chat.ts'
import { gemini } from '../dialects/gemini/gemini.ts'
import { images } from '../dialects/images/images.ts'
import { interactions } from '../dialects/interactions/interactions.ts'
import { messages } from '../dialects/messages/messages.ts'
import { responses } from '../dialects/responses/responses.ts'
import { message, response, streamOf } from '../dialects/responses/test-samples.ts'
import { crossed, PAIRS } from '../dialects/test-crossing.ts'
import { ALL } from '../dialects/test-samples.ts'
import { EventReader } from '../providers/event-reader.ts'
import { OutputCollector } from '../websocket/continuation.ts'
import { eventOf, eventReader, inLane, isEnd, typeOf } from '../websocket/frames.ts'
import { Mutator } from './test-mutations.ts'
import { processorMs } from './test-processor-time.ts'
import { REPEATED, SCANNERS } from './test-scanners.ts'
import { IS_FULL } from './test-size.ts'

const EVENTS = Number(process.env.WAYBILL_FUZZ ?? (IS_FULL ? 1_000_000 : 100_000))
const SEED = Number(process.env.WAYBILL_FUZZ_SEED ?? Date.now() % 2 ** 31)
/** On a quiet machine, the full tests take a minute and a half together. */
const OPTIONS = { timeout: 300_000 }
/** Maximum processor time of one stream, ms; a stream takes about 0.2 ms. */
const MAX_STREAM_MS = 1_000

const dialects = { chat, messages, responses, images, gemini, interactions }
const SAMPLES: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  ALL.map(([name, , samples]) => [name, samples.stream('m').split(/(?<=\n\n)/)]),
)
const item = { ...message('Grüße'), tools: [{ name: 'f', arguments: '{"a":[1,"]"]}' }] }
const OUTPUT = streamOf(
  { type: 'response.created', response: response('m', 'in_progress') },
  { type: 'response.output_item.done', output_index: 0, item },
  { type: 'response.output_item.done', output_index: 1, item },
  { type: 'response.completed', response: response('m', 'completed', { store: false, output: [item] }) },
  { type: 'response.incomplete', response: response('m', 'incomplete', { output: null }) },
).split(/(?<=\n\n)/)

/** Reads streams of mutated events until enough events were read. `share`: this test's part of them. */
function read(t: TestContext, stream: (mutator: Mutator) => number, share = 1): void {
  process.stderr.write(`${t.name}: WAYBILL_FUZZ_SEED=${SEED} repeats it\n`) // seen even if it hangs
  const start = processorMs()
  let slowest = 0
  for (let events = 0, seed = SEED; events < EVENTS * share; seed++) {
    const begun = processorMs()
    try {
      events += stream(new Mutator(seed))
    } catch (cause) {
      throw new Error(`WAYBILL_FUZZ=1 WAYBILL_FUZZ_SEED=${seed}`, { cause })
    }
    const ms = processorMs() - begun
    slowest = Math.max(slowest, ms)
    assert.ok(ms < MAX_STREAM_MS, `${ms} ms: WAYBILL_FUZZ=1 WAYBILL_FUZZ_SEED=${seed}`)
  }
  t.diagnostic(
    `${EVENTS * share} events, ${Math.round((processorMs() - start) / 1_000)} s, slowest stream ${slowest.toFixed(1)} ms`,
  )
}

/** Returns mutated events, mostly in their order. */
function eventsOf(sample: readonly string[], mutator: Mutator): string[] {
  return sample.flatMap((event) => {
    const made = mutator.mutate(mutator.below(10) === 0 ? mutator.pick(sample) : event)
    return made.endsWith('\n\n') || mutator.below(4) === 0 ? [made] : [`${made}\n\n`]
  })
}

const responsesEvents = (mutator: Mutator): string[] =>
  eventsOf(mutator.below(2) === 0 ? OUTPUT : SAMPLES.responses!, mutator)

test('events that a client receives over a WebSocket', OPTIONS, (t) =>
  read(t, (mutator) => {
    const events = responsesEvents(mutator)
    const output = new OutputCollector()
    const take = eventReader((json) => {
      const type = typeOf(json)
      output.add(type, json)
      if (isEnd(type)) for (const each of output.items) JSON.parse(each)
      inLane(json, 'a')
    })
    const decoder = new TextDecoder()
    for (const piece of mutator.pieces(Buffer.from(events.join(''))))
      take(decoder.decode(piece, { stream: true }))
    void [output.id, output.isComplete, output.bytes]
    return events.length
  }),
)

test("events that the gateway's own store collects", OPTIONS, (t) =>
  read(t, (mutator) => {
    const isResponse = mutator.below(2) === 0
    const events = isResponse ? responsesEvents(mutator) : eventsOf(SAMPLES.interactions!, mutator)
    const { storing } = isResponse ? responses.client : interactions.client
    const collector = storing.openCollector()
    for (const piece of mutator.pieces(Buffer.from(events.join('')))) collector.add(piece)
    const { answer } = collector
    if (answer) for (const each of [answer.json, ...answer.output]) JSON.parse(each)
    const whole = storing.openCollector()
    const json = isResponse
      ? JSON.stringify(response('m', 'completed', { output: [item] }))
      : ALL.find(([name]) => name === 'interactions')![2].answer('m', {})
    whole.whole(Buffer.from(mutator.mutate(json)))
    void whole.answer
    return events.length
  }),
)

const NATIVE = Object.entries(dialects)
  .filter(([name]) => SAMPLES[name]!.length > 1)
  .map(([name, { upstream }]) => [name, () => upstream.openStream()] as const)
const TRANSLATED = PAIRS.map(
  ([client, provider]) =>
    [provider, () => crossed(client, provider, { stream: true }).translation.openStream()] as const,
)

test('events that a provider sends, in every dialect and translation', OPTIONS, (t) =>
  read(
    t,
    (mutator) => {
      const [name, open] = mutator.pick(mutator.below(4) === 0 ? TRANSLATED : NATIVE)
      const events = eventsOf(SAMPLES[name]!, mutator)
      const reader = new EventReader(open())
      const rename = renameEvent(dialects[name as 'chat'].client, 'auto')
      const parts = [
        ...mutator.pieces(Buffer.from(events.join(''))).flatMap((piece) => reader.push(piece)),
        ...reader.rest(),
      ]
      for (const { bytes, parsed } of parts)
        if (parsed && !parsed.sent && !parsed.error) rename(bytes, parsed)
      return events.length
    },
    1 / 2,
  ),
)

test('messages that a provider sends over a WebSocket', OPTIONS, (t) =>
  read(
    t,
    (mutator) => {
      const sent = responsesEvents(mutator).map((event) => event.slice(event.indexOf('{')))
      const output = new OutputCollector()
      const reader = new EventReader(responses.upstream.openStream())
      for (const json of sent) {
        output.add(typeOf(json), json)
        const parts = reader.push(Buffer.from(eventOf(json)))
        assert.ok(parts.length > 0, 'a message is an event')
      }
      reader.rest()
      return sent.length
    },
    1 / 2,
  ),
)

test('every function takes time linear in 256 KiB of text', () => {
  const slow: string[] = []
  for (const repeated of REPEATED)
    for (const begin of ['', '{"a":', '{"a":"']) {
      const text = `${begin}${repeated.repeat(2 ** 18 / repeated.length)}\r`
      for (const [name, run] of SCANNERS) {
        const start = processorMs()
        run(text)
        const ms = processorMs() - start
        if (ms > 500) slow.push(`${name}: ${Math.round(ms)} ms for ${begin}${JSON.stringify(repeated)}…`)
      }
    }
  assert.deepEqual(slow, [])
})
