// Checks of the Responses dialect: sealed reasoning, state, compaction and tokens.
import { isDeepStrictEqual } from 'node:util'
import { modelsOf, ref, requestsOf, where } from '../../dialects/lookup.ts'
import { isCrossed, providerDialectOf, readSent } from '../../dialects/registry.ts'
import { type AnyJson, at, jsonOf } from '../../evidence/reading.ts'
import { recordExchange, step } from '../../evidence/step.ts'
import { endText } from '../../evidence/wording.ts'
import { callEach, each, everything, family } from '../family.ts'
import { recordAfter, tokensOnRecord } from '../use/parts.ts'
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
