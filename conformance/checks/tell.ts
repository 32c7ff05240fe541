// Checks of what answers tell about their call: headers, ids, and nothing within the content.

import { firstTargetFails } from '../dialects/dialect.ts'
import {
  aFallbackStatus,
  isSameId,
  itemsOf,
  movedOn,
  namesModel,
  namesProvider,
  recordIn,
  ref,
  refs,
  requestIdOf,
  requestsOf,
  servedBy,
  where,
} from '../dialects/lookup.ts'
import {
  type Evidence,
  type Exchange,
  endText,
  recordExchange,
  step,
  stepText,
} from '../evidence/evidence.ts'
import { at, jsonOf } from '../evidence/reading.ts'
import type { Target } from '../target/schema.ts'
import {
  callEach,
  directIds,
  doubt,
  each,
  everything,
  family,
  finding,
  logicalIds,
  type Told,
} from './check.ts'
import { sameAs } from './expect.ts'

const check = family()

/** Decodes percent-encoding for Waybill only; other gateways may write a plain "%". */
function decoded(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}

/** Checks that the headers of an answer name the provider and model of the entry that served it. */
export function headersName(evidence: Evidence, target: Target, exchange: Exchange) {
  const entry = servedBy(evidence, exchange)
  const { provider, model } = target.observability.headers
  const said = (name: string | undefined) => name && decoded(exchange.headers[name.toLowerCase()] ?? '')
  const [byProvider, byModel] = [said(provider), said(model)]
  const ok =
    entry !== null &&
    (provider === undefined || namesProvider(target, entry.provider, byProvider)) &&
    (model === undefined || namesModel(target, entry.provider, entry.model, byModel))
  const told = [byProvider, byModel].filter((each) => each !== undefined).map((each) => each || 'nothing')
  return finding(
    'headers-name-the-server',
    ok,
    `the response headers of "${stepText(exchange)}"`,
    {
      expected: entry ? `${where(entry)}, which served` : 'a provider that served',
      actual: told.join(' / '),
    },
    refs(exchange, entry),
  )
}

const call = step<{ stream: boolean }>('call')

check('TELL-02', {
  needs: ['headers', 'fallback'],
  timeout: 60_000,
  async exercise(session) {
    const route = session.target.models.logical.find(({ targets }) => targets.length > 1)!
    const script = firstTargetFails(aFallbackStatus(session.target), route)
    for (const stream of [false, true]) {
      await session.chat(call.with({ stream }), { model: route.id, stream, script })
      await session.wait(session.target.capabilities.cooldown_ms)
    }
  },
  judge: each(everything, ({ exchange, evidence, target }) => {
    const entries = requestsOf(evidence, exchange)
    const fellBack = movedOn(target, exchange, entries).length > 0 && exchange.status === 200
    // ROUTE-07 checks that the gateway falls back.
    return fellBack
      ? headersName(evidence, target, exchange)
      : doubt(
          'headers-name-the-server',
          `${stepText(exchange)}: it was not answered after a fallback`,
          refs(exchange, ...entries),
        )
  }),
})

const findable = { call: step('call') }

check('TELL-03', {
  needs: ['request_id', 'log'],
  async exercise(session) {
    for (const stream of [false, true, false]) {
      const exchange = await session.chat(findable.call, { stream })
      await session.record(exchange)
    }
  },
  judge({ evidence, target }) {
    const calls = findable.call.in(evidence)
    const ids = calls.map((exchange) => requestIdOf(target, exchange))
    return [
      {
        'ids-differ': [
          new Set(ids).size === calls.length,
          `request ids of ${calls.length} answers`,
          'all different',
          `${new Set(ids).size} different`,
          calls.map(ref),
        ],
      },
      calls.map((exchange, index): Told => {
        const reading = recordExchange(evidence, exchange)
        const record = ids[index] ? recordIn(target, reading, ids[index]) : undefined
        const { fields, one } = target.observability.log!
        const same = isSameId(at(record, fields.id), ids[index])
        const found = one === undefined && reading ? (itemsOf(target, reading) ?? []) : [record]
        const twice = found.filter((item) => isSameId(at(item, fields.id), ids[index])).length > 1
        return {
          'id-finds-one-record': [
            record !== undefined && same && !twice,
            `what request id ${ids[index] ?? 'none'} finds`,
            'one record, its own',
            record === undefined ? 'none' : twice ? 'more than one' : same ? 'one' : 'another',
            refs(exchange, reading),
          ],
        }
      }),
    ]
  },
})

const sets = {
  withSession: step('with session'),
  withoutSession: step('without session'),
  noStore: step('no-store'),
  read: step('read'),
}

const SESSION = 'conformance-session-1'

const LIVE = ['x-gateway-cache', 'x-gateway-session-id']

check('TELL-04', {
  async exercise(session) {
    for (const stream of [false, true]) {
      await session.chat(sets.withSession, { stream, headers: { 'x-gateway-session-id': SESSION } })
      await session.chat(sets.withoutSession, { stream })
    }
    await session.chat(sets.noStore, { headers: { 'cache-control': 'no-store' } })
    if (session.dialect.name !== 'chat') return // reads are tested once, with chat
    for (const path of session.target.capabilities.read_paths)
      await session.ask(sets.read, path, {
        key: session.running.keys.reader,
        headers: { 'x-gateway-session-id': SESSION },
      })
  },
  judge: each(everything, ({ exchange }) => {
    const [cache, session] = LIVE.map((name) => exchange.headers[name])
    const { step } = exchange
    const actual = `cache ${cache ?? 'absent'}, session ${session ?? 'absent'}`
    if (step === sets.read.step)
      return {
        'none-on-reads': [
          cache === undefined && session === undefined,
          `the headers of ${exchange.request.path}`,
          'cache absent, session absent',
          actual,
          [ref(exchange)],
        ],
      }
    const closed = ['HIT', 'MISS', 'BYPASS'].includes(cache ?? '')
    const expected = step === sets.withSession.step ? SESSION : undefined
    return {
      'closed-sets': [
        closed && session === expected,
        `the headers of the call "${step}"`,
        `cache HIT, MISS or BYPASS, session ${expected ?? 'absent'}`,
        actual,
        [ref(exchange)],
      ],
    }
  }),
})

const hostile = { model: step('model'), line: step('line') }

/** Names that could end a header or a log line, or disturb a terminal. */
const HOSTILE = [
  'a\r\nx-evil: 1',
  '\u001b[31mred\u001b]8;;http://evil\u0007',
  'bidi \u202e gnirts',
  '../../etc/passwd',
  '%0d%0ax-evil: 1',
  '日本\u0000語',
]

const ESC = '\u001b'

const COLOUR = new RegExp(`${ESC}\\[[\\d;]*m`, 'g')

check('TELL-06', {
  hostile: true,
  async exercise(session) {
    for (const name of HOSTILE) {
      const exchange = await session.chat(hostile.model, {
        model: `openai/${name}`,
        body: { prompt_cache_key: name },
      })
      await session.record(exchange)
      await session.ask(hostile.line, `/api/statusline?model=${encodeURIComponent(`openai/${name}`)}`)
    }
  },
  judge: [
    each(hostile.model, ({ exchange, evidence, target }) => {
      const asked = (jsonOf(exchange.request.body!) as { model: string }).model
      const reading = recordExchange(evidence, exchange)
      const printable = Object.values(exchange.headers).every((value) => /^[\x20-\x7e]*$/.test(value))
      const onRecord =
        requestIdOf(target, exchange) === null ||
        at(jsonOf(reading?.body ?? ''), '/requested_model') === asked
      const ok = exchange.headers['x-evil'] === undefined && printable && exchange.status !== null && onRecord
      return {
        'hostile-name-is-harmless': [
          ok,
          `a call of the model ${JSON.stringify(asked)}`,
          'an answer, printable headers, no header of its own, and byte for byte on record',
          `${endText(exchange)}, ${printable ? '' : 'not '}printable${exchange.headers['x-evil'] === undefined ? '' : ', a header of its own'}, ${onRecord ? 'byte for byte' : 'changed'} on record`,
          refs(exchange, reading),
        ],
      }
    }),
    each(hostile.line, ({ exchange }) => {
      // The line may have its own colours, but a name must not add any.
      const { body } = exchange
      const rest = body.replaceAll(COLOUR, '').replaceAll('\n', '')
      const hostile = /\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u.test(rest) || body.includes(`${ESC}[31mred`)
      return {
        'hostile-name-in-the-status-line': [
          !hostile,
          `control characters of a name in the status line for ${exchange.request.path.slice(-40)}`,
          'none',
          hostile ? JSON.stringify(rest) : 'none',
        ],
      }
    }),
  ],
})

const named = step<{ model: string; stream: boolean }>('call')

check('TELL-01', {
  needs: ['headers'],
  exercise: callEach(
    named,
    { model: (session) => [...logicalIds(session), ...directIds(session)], stream: [false, true] },
    (details) => details,
  ),
  judge: each(named, ({ evidence, target, exchange }) => headersName(evidence, target, exchange)),
})

const content = step<{ scenario: string; stream: boolean }>('call')

check('TELL-05', {
  exercise: callEach(
    content,
    { scenario: ['plain', 'long', 'reasoning'], stream: [false, true] },
    ({ scenario, stream }) => ({ stream, script: [{ scenario }], timeout: 30_000 }),
  ),
  judge: each(content, (looked) => sameAs('content-is-untouched', 'content', looked)),
})
