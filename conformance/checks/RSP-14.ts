// RSP-14: A 400 `invalid_encrypted_content` is followed by one more attempt at the same target without encrypted
// reasoning. Both attempts are on record.

import { ref, requestsOf, where } from '../dialects/lookup.ts'
import { at, jsonOf } from '../evidence/reading.ts'
import { recordExchange, step } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'
import { SEALED } from './responses.ts'
import { recordAfter } from './use.ts'

const call = step('the provider refuses sealed reasoning')

const REFUSED = {
  error: {
    message: 'The encrypted content could not be verified. This is synthetic.',
    ...{ type: 'invalid_request_error', param: null, code: 'invalid_encrypted_content' },
  },
}

export const refusedReasoning = {
  id: 'RSP-14',
  needs: ['responses', 'record'],
  dialect: 'responses',
  relays: true,
  async exercise(session) {
    const input = [SEALED, { role: 'user', content: 'Go on. {nonce}' }]
    await recordAfter(session, call, {
      body: { store: false, input },
      script: [{ status: 400, body: REFUSED }, { scenario: 'plain' }],
    })
  },
  judge: ({ evidence }) =>
    call.in(evidence).map((exchange) => {
      const requests = requestsOf(evidence, exchange)
      const reading = recordExchange(evidence, exchange)
      const log = at(jsonOf(reading?.body ?? ''), '/attempt_log')
      const attempts = Array.isArray(log) ? log.length : 0
      const sealed = requests.map(({ body }) => JSON.stringify(body).includes(SEALED.encrypted_content))
      const same = new Set(requests.map(where)).size === 1
      const ok =
        requests.length === 2 && same && sealed[0] && !sealed[1] && attempts === 2 && exchange.status === 200
      return finding(
        'asked-once-more-without',
        ok === true,
        'what a gateway does whose provider refuses encrypted reasoning',
        {
          expected: '200 after two requests to one target, the second without it, and two attempts on record',
          actual: `${endText(exchange)} after ${requests.map((each, index) => `${where(each)} ${sealed[index] ? 'with' : 'without'}`).join(', ')}; ${attempts} attempts on record`,
        },
        [exchange, ...(reading ? [reading] : []), ...requests].map(ref),
      )
    }),
} satisfies Check
