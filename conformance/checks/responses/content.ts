// Checks of the Responses dialect: tools, sealed reasoning, state, compaction, tokens, and headers of the answer.

import { isDeepStrictEqual } from 'node:util'
import { delta, END } from '../../dialects/dialect.ts'
import {
  isCrossed,
  modelsOf,
  providerDialectOf,
  readSent,
  ref,
  requestsOf,
  where,
} from '../../dialects/lookup.ts'
import { endText, recordExchange, step } from '../../evidence/evidence.ts'
import { type AnyJson, at, jsonOf } from '../../evidence/reading.ts'
import { callEach, each, everything, family, logicalIds, thenCoolDown } from '../check.ts'
import { answersWith, requestHolds, retryAfter } from '../expect.ts'
import { recordAfter, tokensOnRecord } from '../log/parts.ts'
import { response, SEALED } from './parts.ts'

const check = family({ needs: ['responses'], dialect: 'responses' })

const sealed = { told: step('told'), returned: step('returned') }

check('RSP-04', {
  relays: true,
  async exercise(session) {
    await session.chat(sealed.told, {
      script: [{ body: response([SEALED]) }],
      body: { store: false, include: ['reasoning.encrypted_content'] },
    })
    const input = [{ role: 'user', content: 'Think.' }, SEALED, { role: 'user', content: 'Go on. {nonce}' }]
    await session.chat(sealed.returned, { body: { store: false, input } })
  },
  judge: each(everything, ({ exchange, entry, crossed, quoted }) => {
    const back = exchange.step === sealed.returned.step
    if (crossed) return []
    const got = back
      ? at(entry?.body, '/input/1/encrypted_content')
      : at(jsonOf(exchange.body), '/output/0/encrypted_content')
    return {
      [back ? 'sealed-goes-back' : 'sealed-is-unchanged']: [
        isDeepStrictEqual(got, SEALED.encrypted_content),
        `the encrypted reasoning of ${quoted}`,
        SEALED.encrypted_content,
        JSON.stringify(got) ?? 'none',
      ],
    }
  }),
})

const refusedOnce = step('the provider refuses sealed reasoning')

const REFUSED = {
  error: {
    message: 'The encrypted content could not be verified. This is synthetic.',
    ...{ type: 'invalid_request_error', param: null, code: 'invalid_encrypted_content' },
  },
}

check('RSP-14', {
  needs: ['responses', 'record'],
  relays: true,
  async exercise(session) {
    const input = [SEALED, { role: 'user', content: 'Go on. {nonce}' }]
    await recordAfter(session, refusedOnce, {
      body: { store: false, input },
      script: [{ status: 400, body: REFUSED }, { scenario: 'plain' }],
    })
  },
  judge: each(refusedOnce, ({ exchange, evidence }) => {
    const requests = requestsOf(evidence, exchange)
    const reading = recordExchange(evidence, exchange)
    const log = at(jsonOf(reading?.body ?? ''), '/attempt_log')
    const attempts = Array.isArray(log) ? log.length : 0
    const sealed = requests.map(({ body }) => JSON.stringify(body).includes(SEALED.encrypted_content))
    const same = new Set(requests.map(where)).size === 1
    const ok =
      requests.length === 2 && same && sealed[0] && !sealed[1] && attempts === 2 && exchange.status === 200
    return {
      'asked-once-more-without': [
        ok === true,
        'what a gateway does whose provider refuses encrypted reasoning',
        '200 after two requests to one target, the second without it, and two attempts on record',
        `${endText(exchange)} after ${requests.map((each, index) => `${where(each)} ${sealed[index] ? 'with' : 'without'}`).join(', ')}; ${attempts} attempts on record`,
        [exchange, ...(reading ? [reading] : []), ...requests].map(ref),
      ],
    }
  }),
})

const state = { told: step('the provider tells a state'), returned: step('the client returns it') }

const STATE_HEADER = 'x-codex-turn-state'
const STATE = 'state-of-the-provider+/=='

check('RSP-11', {
  relays: true,
  async exercise(session) {
    const script = [{ headers: { [STATE_HEADER]: STATE }, body: response() }]
    const { headers } = await session.chat(state.told, { script })
    // A client returns the received value unchanged, even if a gateway wraps it.
    await session.chat(state.returned, { headers: { [STATE_HEADER]: headers[STATE_HEADER] ?? STATE } })
  },
  judge: each(everything, ({ exchange, entry, crossed }) => {
    if (crossed) return []
    const back = exchange.step === state.returned.step
    const got = back ? entry?.headers[STATE_HEADER] : exchange.headers[STATE_HEADER]
    return {
      [back ? 'state-goes-back' : 'state-is-told']: [
        back ? got === STATE : Boolean(got),
        back ? 'the state that the provider got back' : 'the state that the client got',
        back ? STATE : 'one',
        got ?? 'none',
      ],
    }
  }),
})

const compacting = step<{ model: string }>('call')

check('RSP-12', {
  async exercise(session) {
    const input = [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Go on. {nonce}' }] },
      { type: 'compaction_trigger' },
    ]
    for (const model of modelsOf(session))
      await session.chat(compacting.with({ model }), { model, body: { input } })
  },
  judge: each(compacting, ({ exchange, entry, quoted, waybill }) => {
    const { status } = exchange
    const refused = status !== null && (waybill ? status === 400 : status >= 400 && status < 500)
    const input = at(entry?.body, '/input')
    const arrived =
      entry !== null &&
      !isCrossed(exchange, entry) &&
      Array.isArray(input) &&
      input.some((item: AnyJson) => item?.type === 'compaction_trigger')
    return {
      'compaction-is-native-or-refused': [
        entry === null ? refused : arrived,
        `what became of a compaction_trigger in ${quoted}`,
        'it reaches a provider that speaks responses, or the call is refused',
        `${endText(exchange)}; ${entry ? `a provider was asked in ${providerDialectOf(entry).name} ${arrived ? 'with' : 'without'} it` : 'no provider was asked'}`,
      ],
    }
  }),
})

const counted = step<{ scenario: string; stream: boolean }>('call')

check('RSP-13', {
  needs: ['responses', 'record'],
  exercise: callEach(
    counted,
    { scenario: ['usage-cached', 'reasoning'], stream: [false, true] },
    ({ scenario, stream }) => ({ stream, script: [{ scenario }] }),
    recordAfter,
  ),
  judge: each(counted, ({ exchange, entry, evidence }) => {
    const told = readSent(entry).usage.at(-1)
    const count = (pointer: string) => (at(told, pointer) as number | undefined) ?? null
    return tokensOnRecord('kinds-are-recorded', evidence, exchange, {
      cached_input: count('/prompt_tokens_details/cached_tokens'),
      reasoning: count('/completion_tokens_details/reasoning_tokens'),
    })
  }),
})

/** Kinds of tools, and the items of a conversation with them. */
const functionTool = (name: string, description: string) => ({
  ...{ type: 'function', name, description, parameters: { type: 'object', properties: {} }, strict: false },
})
const TOOLS = [
  functionTool('look', 'Looks.'),
  {
    ...{ type: 'custom', name: 'patch', description: 'Patches.' },
    format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' },
  },
  {
    ...{ type: 'namespace', name: 'mcp__files', description: 'Files.' },
    tools: [functionTool('read', 'Reads.')],
  },
  {
    ...{ type: 'tool_search', execution: 'client', description: 'Finds tools.' },
    parameters: { type: 'object', properties: {} },
  },
  { type: 'web_search' },
]
const ITEMS = [
  { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Look.' }] },
  { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' },
  { type: 'function_call_output', call_id: 'call_1', output: 'seen' },
  { type: 'custom_tool_call', call_id: 'call_2', name: 'patch', input: 'x' },
  { type: 'custom_tool_call_output', call_id: 'call_2', output: 'patched' },
  { type: 'function_call', call_id: 'call_3', namespace: 'mcp__files', name: 'read', arguments: '{}' },
  { type: 'function_call_output', call_id: 'call_3', output: 'read' },
  { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'where' } },
]
const ADDED = [
  {
    ...{ type: 'additional_tools', role: 'developer' },
    tools: [functionTool('listen', 'Listens.')],
  },
  { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Listen.' }] },
]

const withTools = step<{ stream: boolean }>('call')
const addingTools = step<{ stream: boolean }>('tools are added')

check('RSP-07', {
  relays: true,
  // The prompt is in the instructions, so that the items can be compared as a whole.
  exercise: [
    callEach(withTools, { stream: [false, true] }, ({ stream }) => ({
      stream,
      body: { instructions: 'Go on. {nonce}', tools: TOOLS, input: ITEMS },
    })),
    callEach(addingTools, { stream: [false, true] }, ({ stream }) => ({
      stream,
      body: { instructions: 'Go on. {nonce}', input: ADDED },
    })),
  ],
  judge: [
    each(withTools, (looked) =>
      looked.crossed
        ? []
        : [
            requestHolds('tools-arrive', '/tools', { has: TOOLS }, looked),
            requestHolds('items-arrive', '/input', { has: ITEMS }, looked),
          ],
    ),
    each(addingTools, (looked) =>
      looked.crossed ? [] : requestHolds('added-tools-arrive', '/input', { has: ADDED }, looked),
    ),
  ],
})

const busy = {
  sevenSeconds: step('busy for seven seconds'),
  silent: step('busy, without a word of when'),
  /** Step in evidence of earlier runs. */
  earlier: step('busy, and says for how long'),
}

/** Seconds that no gateway uses by default. */
const SECONDS = 7

check('RSP-09', {
  timeout: 180_000,
  async exercise(session) {
    const seven = [{ status: 429, headers: { 'retry-after': String(SECONDS) }, refusal: 'synthetic 429' }]
    // A gateway may wait as long as the provider requested, and then try again.
    await thenCoolDown(SECONDS * 1_000 + 500)(session, busy.sevenSeconds, { script: seven, timeout: 60_000 })
    const silent = [{ scenario: '429-no-retry-after' }]
    await thenCoolDown()(session, busy.silent, { script: silent, timeout: 60_000 })
  },
  judge: [
    each(busy.sevenSeconds, (looked) => retryAfter('retry-after-is-passed-on', SECONDS, looked)),
    each(busy.earlier, (looked) => retryAfter('retry-after-is-passed-on', 1, looked)),
    each(busy.silent, (looked) =>
      looked.waybill
        ? answersWith('every-429-says-when', { status: 429, header: 'retry-after' }, looked)
        : [],
    ),
  ],
})

const NAMED = { 'openai-model': 'gpt-of-another-name' }

const naming = {
  whole: step<{ model: string }>('the provider names its model'),
  streamed: step<{ model: string }>('the provider names its model, streamed'),
  ownId: step<{ model: string }>('a model is called by its own id'),
}

check('RSP-10', {
  needs: ['responses', 'logical'],
  async exercise(session) {
    const answer = { ...response(), model: NAMED['openai-model'] }
    const script = [{ status: 200, headers: NAMED, body: answer }]
    const streamed = [{ headers: NAMED, events: [delta('one'), END] }]
    for (const model of logicalIds(session)) {
      await session.chat(naming.whole.with({ model }), { model, script })
      await session.chat(naming.streamed.with({ model }), { model, stream: true, script: streamed })
    }
    for (const model of modelsOf(session)) await session.chat(naming.ownId.with({ model }), { model, script })
  },
  judge: [
    each([naming.whole, naming.streamed], (looked) =>
      answersWith('logical-id-stays', { without: 'openai-model' }, looked),
    ),
    each(naming.ownId, (looked) =>
      looked.waybill ? answersWith('never-told', { without: 'openai-model' }, looked) : [],
    ),
  ],
})

const nulls = step<{ model: string; stream: boolean }>('call')

check('RSP-15', {
  exercise: callEach(nulls, { model: modelsOf, stream: [false, true] }, (details) => ({
    ...details,
    body: {
      input: [
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Think.' }] },
        { type: 'reasoning', id: 'rs_1', summary: [], content: null, encrypted_content: null },
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Go on. {nonce}' }] },
      ],
    },
  })),
  judge: each(nulls, (looked) => answersWith('nulls-are-accepted', { status: 200 }, looked)),
})
