// FIT-08: If a provider refuses a request because of one of its parameters, the gateway sends it at most one more
// request, without this parameter. If the client then gets an answer, a response header names the omitted
// parameter.

import { ref, requestsOf, where } from '../dialects/lookup.ts'
import { step } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'

const call = step<{ stream: boolean }>('the provider refuses a parameter')

const PARAMETER = 'temperature'
const REFUSED = {
  error: {
    message: `Unsupported parameter: '${PARAMETER}' is not supported with this model. This is synthetic.`,
    ...{ type: 'invalid_request_error', param: PARAMETER, code: 'unsupported_parameter' },
  },
}

export const refusedParameter = {
  id: 'FIT-08',
  async exercise(session) {
    for (const stream of [false, true])
      await session.chat(call.with({ stream }), {
        stream,
        body: { [PARAMETER]: 0.37 },
        // A gateway that repeats the unchanged request is refused again.
        script: [{ status: 400, body: REFUSED }, { scenario: 'plain' }],
      })
  },
  judge: ({ evidence }) =>
    call.in(evidence).flatMap((exchange) => {
      // A request with a wrong key is refused before its parameters are checked.
      const requests = requestsOf(evidence, exchange).filter(({ credential }) => credential !== 'mismatch')
      const sent = requests.map(({ body }) => JSON.stringify(body).includes(`"${PARAMETER}":`))
      const name = exchange.details.stream ? 'streamed' : 'whole'
      const evident = [exchange, ...requests].map(ref)
      // Another target may accept the parameter, so a request with the parameter may go there.
      const places = [...new Set(requests.map(where))].map((place) =>
        sent.filter((_, n) => where(requests[n]!) === place),
      )
      const once = finding(
        'at-most-once-more',
        places.every((each) => each.length <= 2 && !(each[0] && each[1])),
        `what a gateway sends after its provider refused a parameter (${name})`,
        {
          expected: `one request to each target, or a second one without ${PARAMETER}`,
          actual: requests.map((each, n) => `${where(each)} ${sent[n] ? 'with' : 'without'} it`).join(', '),
        },
        evident,
      )
      // Only an answer to a changed request must name the omitted parameter.
      if (exchange.status !== 200 || requests.length === 0 || sent.at(-1)) return [once]
      const says = finding(
        'says-what-it-left-out',
        Object.entries(exchange.headers ?? {}).some((header) =>
          header.join(' ').toLowerCase().includes(PARAMETER),
        ),
        `what the answer to a changed request says (${name})`,
        {
          expected: `a response header that names ${PARAMETER}`,
          actual: `${endText(exchange)}, and no header names it`,
        },
        evident,
      )
      return [once, says]
    }),
} satisfies Check
