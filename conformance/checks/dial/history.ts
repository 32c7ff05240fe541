// Checks of what returns to a provider: tool calls and sealed reasoning.
import { isDeepStrictEqual } from 'node:util'
import { isCrossed, modelsOf, readAnswer, refs, servedBy } from '../../dialects/lookup.ts'
import { listed, step } from '../../evidence/evidence.ts'
import { type AnyJson, at, jsonOf } from '../../evidence/reading.ts'
import { each, family } from '../check.ts'

const check = family({ needs: ['messages'], dialect: 'messages' })

const toolIds = {
  calls: step<{ model: string }>('the model calls tools'),
  results: step<{ model: string }>('the client returns results'),
}

/** Calls with ids in the style of some models; not every dialect allows `.` and `:` in an id. */
const CALLS = ['functions.look:0', 'functions.look:1'].map((id) => ({ id, name: 'look', arguments: {} }))
const FITS = /^[a-zA-Z0-9_-]{1,40}$/

/** Returns every object in a request. */
const objects = (value: unknown): AnyJson[] =>
  typeof value !== 'object' || value === null
    ? []
    : [...(Array.isArray(value) ? [] : [value as AnyJson]), ...Object.values(value).flatMap(objects)]

/** Returns the ids of calls, and the ids to which results refer, in the format of each dialect. */
function idsIn(body: unknown): { calls: string[]; results: string[] } {
  const all = objects(body)
  return {
    calls: all.flatMap(({ type, tool_calls, id, call_id }) =>
      Array.isArray(tool_calls)
        ? tool_calls.map((call: AnyJson) => call?.id)
        : type === 'tool_use'
          ? [id]
          : type === 'function_call'
            ? [call_id]
            : [],
    ),
    results: all.flatMap(({ type, role, tool_call_id, tool_use_id, call_id }) =>
      role === 'tool'
        ? [tool_call_id]
        : type === 'tool_result'
          ? [tool_use_id]
          : type === 'function_call_output'
            ? [call_id]
            : [],
    ),
  }
}

check('DIAL-06', {
  timeout: 60_000,
  async exercise(session) {
    const tools = [{ name: 'look', input_schema: { type: 'object' } }]
    for (const model of modelsOf(session)) {
      const said = await session.chat(toolIds.calls.with({ model }), {
        model,
        body: { tools },
        script: [{ say: { calls: CALLS } }],
      })
      const ids = readAnswer(said).tools.map(({ id }) => id)
      await session.chat(toolIds.results.with({ model }), {
        model,
        body: {
          tools,
          messages: [
            { role: 'user', content: 'Look.' },
            {
              role: 'assistant',
              content: ids.map((id) => ({ type: 'tool_use', id, name: 'look', input: {} })),
            },
            {
              role: 'user',
              content: [
                ...ids.map((id) => ({ type: 'tool_result', tool_use_id: id, content: 'seen' })),
                { type: 'text', text: 'Go on. {nonce}' },
              ],
            },
          ],
        },
      })
    }
  },
  judge: [
    each(toolIds.calls, ({ exchange, entry, quoted, waybill }) => {
      if (!waybill || entry === null || !isCrossed(exchange, entry)) return []
      const ids = readAnswer(exchange).tools.map(({ id }) => id)
      return {
        'ids-fit': [
          ids.length === CALLS.length && ids.every((id) => FITS.test(id)),
          `the ids of ${quoted} for the client`,
          `${CALLS.length} that match ${FITS.source}`,
          listed(ids),
        ],
      }
    }),
    each(toolIds.results, ({ entry, crossed, quoted, waybill }) => {
      const { calls, results } = idsIn(entry?.body)
      const own = CALLS.map(({ id }) => id)
      const exact = waybill && crossed
      return {
        'results-find-their-calls': [
          new Set(calls).size === CALLS.length &&
            isDeepStrictEqual(calls.toSorted(), results.toSorted()) &&
            (!exact || isDeepStrictEqual(calls, own)),
          `the ids in the provider's request of ${quoted}`,
          exact ? `${listed(own)}, of calls and of results` : 'two, the same of calls and of results',
          `calls ${listed(calls)}; results ${listed(results)}`,
        ],
      }
    }),
  ],
})

const sealedHistory = step<{ model: string }>('a history with sealed reasoning')

/** Blocks sealed by this dialect's provider family, and blocks sealed by a family without a provider here. */
const SEALS = { own: 'c2VhbGVkIGF0IGhvbWU=', foreign: Buffer.from('sealed elsewhere').toString('base64') }
/** Foreign seal, wrapped in the form that this gateway uses for its clients. */
const carried = `wb1:elsewhere:${SEALS.foreign}`

const histories = {
  messages: {
    messages: [
      { role: 'user', content: 'Think.' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'first this', signature: SEALS.own },
          { type: 'thinking', thinking: 'then that', signature: carried },
          { type: 'text', text: 'said' },
        ],
      },
      { role: 'user', content: 'Go on. {nonce}' },
    ],
  },
  responses: {
    store: false,
    input: [
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: SEALS.own },
      { type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: carried },
      { role: 'user', content: 'Go on. {nonce}' },
    ],
  },
}

check('DIAL-07', {
  async exercise(session) {
    const body = session.dialect.name === 'responses' ? histories.responses : histories.messages
    for (const model of modelsOf(session)) await session.chat(sealedHistory.with({ model }), { model, body })
  },
  judge: each(sealedHistory, ({ entry, crossed, quoted }) => {
    const text = JSON.stringify(entry?.body ?? null)
    const there = Object.entries(SEALS).flatMap(([whose, seal]) => (text.includes(seal) ? [whose] : []))
    const allowed = crossed ? [] : ['own']
    return {
      'sealed-stays-in-its-family': [
        entry !== null && there.join() === allowed.join(),
        `what the provider of ${quoted} got of sealed reasoning`,
        listed(allowed),
        entry === null ? 'no provider was asked' : listed(there),
      ],
    }
  }),
})

const thoughts = {
  told: step<{ model: string }>('thoughts are told'),
  returned: step<{ model: string }>('thoughts are returned'),
}

/** Returns a Messages provider's sealed blocks, from an answer or a request's history. */
const sealedIn = (content: unknown): AnyJson[] =>
  (Array.isArray(content) ? content : []).filter((block: AnyJson) => block?.type === 'thinking')

check('DIAL-08', {
  needs: ['responses'],
  dialect: 'responses',
  async exercise(session) {
    const body = { store: false, include: ['reasoning.encrypted_content'] }
    for (const model of modelsOf(session)) {
      const said = await session.chat(thoughts.told.with({ model }), {
        model,
        body,
        script: [{ scenario: 'reasoning' }],
      })
      const output = at(jsonOf(said.body), '/output')
      await session.chat(thoughts.returned.with({ model }), {
        model,
        body: {
          ...body,
          input: [...((output as object[]) ?? []), { role: 'user', content: 'Go on. {nonce}' }],
        },
      })
    }
    const sealed = (await session.soFar()).ledger.some(({ endpoint }) => endpoint === 'messages')
    if (!sealed) session.untestable('no model of this dialect goes to a provider of messages')
  },
  judge: each(thoughts.returned, ({ exchange, entry, quoted, evidence }) => {
    const first = thoughts.told.in(evidence).find(({ details }) => details.model === exchange.details.model)
    const made = first && servedBy(evidence, first)
    const sent = sealedIn(at(jsonOf(made?.answer.body ?? ''), '/content'))
    if (!made || !isCrossed(first, made) || sent.length === 0) return []
    const history = at(entry?.body, '/messages') as AnyJson[] | undefined
    const got = sealedIn(history?.find(({ role }) => role === 'assistant')?.content)
    return {
      'sealed-comes-back': [
        isDeepStrictEqual(got, sent),
        `the thoughts in the provider's request of ${quoted}`,
        JSON.stringify(sent),
        JSON.stringify(got),
        refs(first, made, exchange, entry),
      ],
    }
  }),
})
