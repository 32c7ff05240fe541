// ROUTE: a call goes where the routing table says, with what the client asked for. One family, one file.
import { isDeepStrictEqual } from 'node:util'
import { nonceIn, writeNonce } from '../../mocks/ledger.ts'
import type { Step } from '../../mocks/script.ts'
import { type Check, finding } from '../check.ts'
import type { Evidence, Exchange } from '../evidence.ts'
import { aFallbackStatus, labelled, ref, refs, requestsOf, servedBy, where } from '../lookup.ts'
import { at, jsonOf, readChat } from '../reading.ts'
import { delta, errorBody, failure } from '../scripted.ts'
import type { Session } from '../session.ts'
import type { Target } from '../target.ts'

type Table = Target['models']['logical'][number]

const isIn = ({ targets }: Table, entry: { provider: string; model: string | null }): boolean =>
  targets.some(({ provider, model }) => provider === entry.provider && model === entry.model)

export const logicalIds = {
  id: 'ROUTE-01',
  needs: ['logical'],
  async exercise(session) {
    for (const { id } of session.target.models.logical)
      for (const stream of [false, true, false]) await session.chat(id, { model: id, stream })
  },
  judge: ({ evidence, target }) =>
    target.models.logical.flatMap((table) =>
      labelled(evidence, table.id).map((exchange) => {
        const entry = servedBy(evidence, exchange)
        const ok = entry !== null && isIn(table, entry) && exchange.status === 200
        const went = entry ? where(entry) : 'nowhere'
        return finding(
          ok,
          `"${table.id}" went to ${went}, the client got ${exchange.status}`,
          refs(exchange, entry),
        )
      }),
    ),
} satisfies Check

export const directIds = {
  id: 'ROUTE-02',
  needs: ['direct'],
  async exercise(session) {
    for (const { id } of session.target.models.direct) {
      await session.chat(id, { model: id })
      await session.chat(id, { model: id, stream: true })
      await session.chat(id, { model: id, script: [failure(500)] })
      await session.wait(session.target.capabilities.cooldown_ms)
    }
  },
  judge: ({ evidence, target }) =>
    target.models.direct.flatMap(({ id, provider, model }) =>
      labelled(evidence, id).map((exchange) => {
        const entries = requestsOf(evidence, exchange)
        const ok =
          entries.length > 0 && entries.every((entry) => entry.provider === provider && entry.model === model)
        const went = entries.map(where).join(', ') || 'nowhere'
        return finding(ok, `"${id}" went to ${went}`, refs(exchange, ...entries))
      }),
    ),
} satisfies Check

export const unknownIds = {
  id: 'ROUTE-03',
  async exercise(session) {
    // Where a gateway leaves it to the provider to know a model, the provider says no.
    const script = [{ scenario: '404' }]
    for (const model of ['no-such-route', 'no-such-provider/no-such-model'])
      await session.chat(model, { model, script })
  },
  judge: ({ evidence, waybill }) =>
    evidence.exchanges.flatMap((exchange) => {
      const { status, body, label } = exchange
      const refused = status !== null && status >= 400 && status < 500
      const worded = waybill
        ? status === 404 && at(jsonOf(body), '/error/code') === 'model_not_found'
        : body.length > 0
      const elsewhere = requestsOf(evidence, exchange).filter(
        ({ model }) => model === null || !label.endsWith(model),
      )
      return [
        finding(
          refused && worded,
          `"${label}" was answered with ${status}, expected ${waybill ? '404 model_not_found' : 'a 4xx that says why'}: ${body.slice(0, 120)}`,
          [ref(exchange)],
        ),
        finding(
          elsewhere.length === 0,
          `"${label}" was sent to ${elsewhere.map(where).join(', ') || 'no other model'}`,
          refs(exchange, ...elsewhere),
        ),
      ]
    }),
} satisfies Check

export const nothingOutside = {
  id: 'ROUTE-04',
  needs: ['logical'],
  timeout: 90_000,
  async exercise(session) {
    for (const { id } of session.target.models.logical) {
      await session.chat(id, { model: id, script: [failure(500)] })
      await session.drain()
      await session.wait(session.target.capabilities.cooldown_ms)
    }
  },
  judge: ({ evidence, target }) =>
    target.models.logical.flatMap((table) =>
      labelled(evidence, table.id).map((exchange) => {
        const entries = requestsOf(evidence, exchange)
        const outside = entries.filter((entry) => !isIn(table, entry))
        const ok = entries.length > 0 && outside.length === 0 && (exchange.status ?? 0) >= 400
        return finding(
          ok,
          `all targets of "${table.id}" failed: ${entries.length} requests, ${outside.length} of them to others (${outside.map(where).join(', ') || 'none'}); the client got ${exchange.status}`,
          refs(exchange, ...entries),
        )
      }),
    ),
} satisfies Check

/** Fields of OpenAI's chat request with values that no default has. */
const KNOWN = {
  temperature: 0.3,
  top_p: 0.9,
  max_completion_tokens: 321,
  stop: ['<<end>>', '<<stop>>'],
  seed: 4_242,
  presence_penalty: 0.25,
  frequency_penalty: -0.25,
  logit_bias: { '50256': -100 },
  user: 'conformance-user',
  response_format: { type: 'json_object' },
  parallel_tool_calls: false,
  tool_choice: 'auto',
  tools: [
    {
      type: 'function',
      function: {
        name: 'find_road',
        description: 'Finds a target.',
        parameters: { type: 'object', properties: { from: { type: 'string' } }, required: ['from'] },
      },
    },
  ],
}

const KNOWN_MESSAGES = (nonce: string) => [
  { role: 'system', content: 'You know the targets.' },
  { role: 'user', content: [{ type: 'text', text: `Which way? ${writeNonce(nonce)} äöü 🚚 \u2028` }] },
  {
    role: 'assistant',
    content: null,
    tool_calls: [
      { id: 'call_1', type: 'function', function: { name: 'find_road', arguments: '{"from":"here"}' } },
    ],
  },
  { role: 'tool', tool_call_id: 'call_1', content: 'north' },
]

/** What a value says: a member that is null is as good as none, and one part of text as good as the text. */
function meaningOf(value: unknown): unknown {
  if (Array.isArray(value)) {
    const [part, ...more] = value
    return part?.type === 'text' && more.length === 0 ? part.text : value.map(meaningOf)
  }
  if (typeof value !== 'object' || value === null) return value
  const said = Object.entries(value).filter(([, member]) => member !== null)
  return Object.fromEntries(said.map(([name, member]) => [name, meaningOf(member)]))
}

export const knownFields = {
  id: 'ROUTE-05',
  async exercise(session) {
    for (const stream of [false, true]) {
      const messages = KNOWN_MESSAGES(session.nonce())
      const body = { ...KNOWN, messages, ...(stream && { stream_options: { include_usage: true } }) }
      await session.chat(stream ? 'streamed' : 'whole', { stream, body })
    }
  },
  judge: ({ evidence, waybill }) =>
    evidence.exchanges.flatMap((exchange) => {
      const asked = jsonOf(exchange.request.body ?? '') as Record<string, unknown>
      const entry = evidence.ledger.find(({ nonce }) => nonce === nonceIn(exchange.request.body ?? ''))
      if (!entry)
        return [
          finding(false, `${exchange.label}: no request at the witness has its messages`, [ref(exchange)]),
        ]
      const fields = Object.keys(asked).filter((name) => name !== 'model' && name !== 'stream_options')
      const arrived = (name: string) => meaningOf(at(entry.body, `/${name}`))
      const lost = fields.filter((name) => !isDeepStrictEqual(arrived(name), meaningOf(asked[name])))
      // `stream: false` may be left out: it is the default. And a limit of tokens may go by its older name.
      const older = (name: string) =>
        name === 'max_completion_tokens' && arrived('max_tokens') === asked[name]
      const changed = lost.filter(
        (name) => !(name === 'stream' && asked.stream === false && !entry.stream) && !older(name),
      )
      // What the provider lets pass is for this interface's own gateway to avoid.
      const invalid = entry.problems.filter((problem) => waybill || !problem.startsWith('unknown field'))
      return [
        finding(
          changed.length === 0,
          `${exchange.label}: ${fields.length} fields sent; changed or lost: ${changed.join(', ') || 'none'}`,
          refs(exchange, entry),
        ),
        finding(
          invalid.length === 0,
          `${exchange.label}: by the provider's schema: ${invalid.join('; ') || 'valid'}`,
          refs(entry),
        ),
      ]
    }),
} satisfies Check

const UNKNOWN = { x_waybill_probe: { deep: [1, null, 'two'], flag: false } }

export const unknownFields = {
  id: 'ROUTE-06',
  async exercise(session) {
    await session.chat('unknown field', { body: UNKNOWN })
    await session.chat('unknown field, streamed', { body: UNKNOWN, stream: true })
  },
  judge: ({ evidence }) =>
    evidence.exchanges.map((exchange) => {
      const entry = servedBy(evidence, exchange)
      const ok = isDeepStrictEqual(at(entry?.body, '/x_waybill_probe'), UNKNOWN.x_waybill_probe)
      return finding(
        ok,
        `${exchange.label}: ${ok ? 'arrived' : 'did not arrive'} unchanged`,
        refs(exchange, entry),
      )
    }),
} satisfies Check

/** Statuses that no gateway may take for a reason to move on, unless it says so. */
const FINAL = [400, 413, 422]

/** Whichever target is tried first fails for as long as it is asked; any other answers. */
async function tryFallback(session: Session, status: number, stream = false): Promise<void> {
  const route = session.target.models.logical.find(({ targets }) => targets.length > 1)!
  const script = [{ ...failure(status), same_target: true }, { scenario: 'plain' }]
  const label = `status ${status}${stream ? ', streamed' : ''}`
  await session.chat(label, { model: route.id, script, stream })
  await session.wait(session.target.capabilities.cooldown_ms)
}

/** A call with its requests, and those among them that did not go where the first one went. */
function tried(evidence: Evidence, exchange: Exchange) {
  const entries = requestsOf(evidence, exchange)
  const others = entries.filter((entry) => where(entry) !== where(entries[0]!))
  return { entries, others }
}

const roadOf = (entries: Evidence['ledger']): string => entries.map(where).join(', ') || 'nobody'

export const fallbackConditions = {
  id: 'ROUTE-07',
  needs: ['fallback'],
  timeout: 120_000,
  async exercise(session) {
    const { fallback_statuses } = session.target.capabilities
    for (const status of fallback_statuses) await tryFallback(session, status)
    // One is enough to see that streams move on as well.
    await tryFallback(session, aFallbackStatus(session.target), true)
    for (const status of FINAL.filter((each) => !fallback_statuses.includes(each)))
      await tryFallback(session, status)
  },
  judge: ({ evidence, target }) =>
    evidence.exchanges.map((exchange) => {
      const { entries, others } = tried(evidence, exchange)
      const moves = target.capabilities.fallback_statuses.some((each) =>
        exchange.label.includes(String(each)),
      )
      return finding(
        moves ? others.length > 0 && exchange.status === 200 : entries.length > 0 && others.length === 0,
        `after ${exchange.label} of ${roadOf(entries.slice(0, 1))}, ${moves ? '' : 'not '}declared, the call went on to ${roadOf(others)}; the client got ${exchange.status}`,
        refs(exchange, ...entries),
      )
    }),
} satisfies Check

export const nothingAfterCommit = {
  id: 'ROUTE-08',
  hostile: true,
  timeout: 60_000,
  async exercise(session) {
    const { logical } = session.target.models
    const model = logical.find(({ targets }) => targets.length > 1)?.id ?? session.model
    const endings: [string, Step][] = [
      ['cut', { end: 'cut' }],
      ['error event', { data: errorBody('synthetic') }],
    ]
    for (const [label, ending] of endings) {
      // The provider fails when the client has the first event, not before: until then a gateway may still move on.
      const gate = session.nonce()
      const script = [{ events: [delta('one'), { gate }, ending] }]
      const call = await session.openChat(label, { model, stream: true, script })
      const started = await call.until((body) => readChat(body).content.includes('one'), 5_000)
      await session.witness.release(gate)
      await call.done
      if (!started)
        session.untestable(
          'the first event of a stream did not reach the client before the next one was there',
        )
      await session.drain()
      await session.wait(session.target.capabilities.cooldown_ms)
    }
  },
  judge: ({ evidence }) =>
    evidence.exchanges.map((exchange) => {
      const entries = requestsOf(evidence, exchange)
      return finding(
        entries.length === 1,
        `${exchange.label} after the first event: ${entries.length} requests to providers in all, expected one`,
        refs(exchange, ...entries),
      )
    }),
} satisfies Check
