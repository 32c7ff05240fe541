// Checks of the Gemini dialect: streams, errors, usage and the end of an answer.

import { dialectOf, readAnswer } from '../../dialects/lookup.ts'
import { endText, step } from '../../evidence/evidence.ts'
import { at, jsonOf, readEvents } from '../../evidence/reading.ts'
import { callEach, each, family } from '../check.ts'
import type { ChatOptions } from '../context.ts'
import { judgeKinds } from '../log/parts.ts'
import { GEMINI_USAGE, geminiAnswer, refusedInShape, sameBytes } from '../responses/parts.ts'

/** Writes an event as Google does, with CR and LF. */
const geminiEvent = (json: object) => ({ raw: `data: ${JSON.stringify(json)}\r\n\r\n` })

const check = family({ needs: ['gemini'], dialect: 'gemini' })

const streams = { events: step<{ about: string }>('events'), list: step('a list') }

const STREAMS: Readonly<Record<string, readonly object[]>> = {
  text: [geminiAnswer([{ text: 'From here ' }]), geminiAnswer([{ text: 'to there.' }], 'STOP')],
  'thoughts and calls': [
    geminiAnswer([{ text: 'Where to?', thought: true }]),
    geminiAnswer([{ text: '', thoughtSignature: 'c2lnbmF0dXJl' }]),
    geminiAnswer(
      [
        {
          functionCall: { id: 'call-1', name: 'look_up', args: { way: 1, back: false } },
          thoughtSignature: 'c2Vjb25k',
        },
        { functionCall: { name: 'look_up', args: {} } },
      ],
      'STOP',
    ),
  ],
  'unknown members': [
    { ...geminiAnswer([{ text: 'It ', waybillProbe: { kept: true } }]), waybillProbe: [1, null] },
    geminiAnswer([{ text: 'is known.' }], 'STOP'),
  ],
}

const LIST = `[${STREAMS.text!.map((part) => JSON.stringify(part)).join('\n,\r\n')}\n]\n`

check('GEM-03', {
  relays: true,
  async exercise(session) {
    const models = [...new Set([session.model, ...session.target.models.direct.map(({ id }) => id)])]
    for (const model of models) {
      for (const [about, parts] of Object.entries(STREAMS))
        await session.chat(streams.events.with({ about }), {
          ...{ model, stream: true, script: [{ events: parts.map(geminiEvent) }] },
        })
      const script = [{ headers: { 'content-type': 'application/json' }, status: 200, body: LIST }]
      const path = `/v1beta/models/${model}:streamGenerateContent`
      await session.chat(streams.list, { model, stream: true, path, script })
    }
  },
  judge({ evidence }) {
    const found = [
      ...streams.events.in(evidence).flatMap((each) => sameBytes('same-events', evidence, each)),
      ...streams.list.in(evidence).flatMap((each) => sameBytes('same-list', evidence, each)),
    ]
    return found.length > 0 ? found : { 'same-events': { doubt: 'Every stream was translated.' } }
  },
})

const errors = {
  refused: step<{ status: number; stream: boolean }>('the provider refuses it'),
  malformed: step<{ fault: string }>('malformed'),
  broken: step<{ how: string }>('the stream breaks'),
}

const REFUSAL = {
  error: {
    ...{ code: 400, message: 'Unable to process “input image”.', status: 'INVALID_ARGUMENT' },
    details: [
      { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: [{ field: 'contents' }] },
    ],
  },
}

const FAILURE = { error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } }

type Events = NonNullable<NonNullable<ChatOptions['script']>[number]['events']>

const BREAKS: Readonly<Record<string, Events>> = {
  'in the middle': [geminiEvent(geminiAnswer([{ text: 'From here' }])), { end: 'cut' }],
  'with a reset': [geminiEvent(geminiAnswer([{ text: 'From here' }])), { end: 'reset' }],
  'with an error': [geminiEvent(geminiAnswer([{ text: 'From here' }])), geminiEvent(FAILURE)],
}

check('GEM-04', {
  async exercise(session) {
    for (const stream of [false, true])
      await session.chat(errors.refused.with({ status: 400, stream }), {
        ...{ stream, script: [{ status: 400, body: REFUSAL }] },
      })
    const path = session.dialect.pathOf!({ model: session.model, stream: false, prompt: '', body: {} })
    for (const [fault, body] of Object.entries({ ...session.dialect.malformed, 'no JSON': '{"contents":' }))
      await session.ask(errors.malformed.with({ fault }), path, {
        ...{ method: 'POST', headers: session.callHeaders, body },
      })
    for (const [how, events] of Object.entries(BREAKS))
      await session.chat(errors.broken.with({ how }), { stream: true, script: [{ events }] })
  },
  judge: [
    each(errors.refused, ({ exchange, details, quoted, evidence }) => [
      {
        'refusal-keeps-its-status': [
          exchange.status === details.status,
          `the answer to ${quoted}`,
          String(details.status),
          endText(exchange),
        ],
      },
      ...sameBytes('refusal-arrives-word-for-word', evidence, exchange),
      refusedInShape('error-is-in-shape', evidence, exchange),
    ]),
    each(errors.malformed, ({ exchange, evidence }) =>
      refusedInShape('error-is-in-shape', evidence, exchange),
    ),
    each(errors.broken, ({ exchange, quoted }) => {
      const { finish, errors } = readAnswer(exchange)
      const shaped = errors.filter((error) => dialectOf(exchange).isError(JSON.stringify({ error })))
      return {
        'broken-stream-has-no-end': [
          finish.length === 0 &&
            errors.length === shaped.length &&
            (exchange.end !== 'complete' || shaped.length > 0),
          `the end of ${quoted}`,
          'a connection that breaks, or an error of Google’s; no finishReason',
          `${endText(exchange)}, ${errors.length === shaped.length ? '' : 'an error of another format, '}${shaped.length > 0 ? '' : 'no error of Google’s, '}finishReason ${finish.map(({ reason }) => reason).join(', ') || 'none'}`,
        ],
      }
    }),
  ],
})

const thinking = step<{ stream: boolean }>('call')

/** Last usage report, and an earlier report that it replaces. */
const LAST = {
  ...{ promptTokenCount: 900, cachedContentTokenCount: 700, candidatesTokenCount: 40 },
  ...{ thoughtsTokenCount: 60, totalTokenCount: 1000 },
}
const FIRST = { promptTokenCount: 900, thoughtsTokenCount: 20, totalTokenCount: 920 }
const ON_RECORD = { input: 900, cached_input: 700, output: 100, reasoning: 60 }

check('GEM-05', {
  needs: ['gemini', 'record'],
  async exercise(session) {
    const thought = { ...geminiAnswer([{ text: 'Where to?', thought: true }]), usageMetadata: FIRST }
    const text = { ...geminiAnswer([{ text: 'There.' }], 'STOP'), usageMetadata: LAST }
    const scripts = [
      { stream: false, script: [{ status: 200, body: text }] },
      { stream: true, script: [{ events: [geminiEvent(thought), geminiEvent(text)] }] },
    ]
    for (const { stream, script } of scripts)
      await session.record(await session.chat(thinking.with({ stream }), { stream, script }))
  },
  judge: judgeKinds(thinking, ON_RECORD),
})

const ending = step<{ reason: string; stream: boolean }>('call')

const FINISHED = [
  ...['STOP', 'MAX_TOKENS', 'SAFETY', 'RECITATION', 'LANGUAGE', 'OTHER', 'BLOCKLIST', 'PROHIBITED_CONTENT'],
  ...['SPII', 'MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL', 'A_REASON_OF_TOMORROW'],
]
const BLOCKED = ['SAFETY', 'OTHER', 'BLOCKLIST', 'PROHIBITED_CONTENT']
const PROMPT = 'prompt: '

/** Returns a provider's answer, without a candidate if the prompt was blocked. */
const endedBy = (reason: string) =>
  reason.startsWith(PROMPT)
    ? { promptFeedback: { blockReason: reason.slice(PROMPT.length) }, usageMetadata: GEMINI_USAGE }
    : geminiAnswer([{ text: 'From here' }], reason)

/** Returns the reason why an answer ended, in the format that `endedBy` accepts. */
function endIn(body: string): string | null {
  const whole = jsonOf(body)
  const parts = whole === undefined ? readEvents(body).map(({ data }) => jsonOf(data)) : [whole]
  const ends = parts.flatMap((part) => {
    const blocked = at(part, '/promptFeedback/blockReason')
    return blocked === undefined ? (at(part, '/candidates/0/finishReason') ?? []) : `${PROMPT}${blocked}`
  })
  return ends.length === 0 ? null : String(ends.at(-1))
}

check('GEM-06', {
  relays: true,
  exercise: callEach(
    ending,
    { reason: [...FINISHED, ...BLOCKED.map((each) => PROMPT + each)], stream: [false, true] },
    ({ reason, stream }) => ({
      stream,
      script: [stream ? { events: [geminiEvent(endedBy(reason))] } : { status: 200, body: endedBy(reason) }],
    }),
  ),
  judge: each(ending, ({ exchange, details, crossed, quoted }) => {
    if (crossed) return []
    const { reason } = details
    const seen = exchange.status === 200 ? endIn(exchange.body) : endText(exchange)
    return {
      [reason.startsWith(PROMPT) ? 'blocked-prompt-arrives' : 'finish-reason-arrives']: [
        seen === reason,
        `the end of ${quoted}`,
        reason,
        seen ?? 'none',
      ],
    }
  }),
})
