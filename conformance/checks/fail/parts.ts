// Parts that the FAIL checks and others share: malformed bodies, and a call afterwards.
import { refs, servedBy } from '../../dialects/lookup.ts'
import type { Evidence, Exchange } from '../../evidence/evidence.ts'
import type { Step } from '../../evidence/step.ts'
import { endText } from '../../evidence/wording.ts'
import { finding } from '../../runner/check.ts'
import type { CheckContext } from '../../runner/context.ts'

/** Bodies that are not valid requests: in any dialect, and in the dialect under test. */
export const malformed = ({ dialect }: CheckContext): Readonly<Record<string, string>> => ({
  empty: '',
  'no JSON': 'Where do you go?',
  'cut JSON': '{"model":"x","messages":[',
  'an array': '[]',
  'a string': '"auto"',
  ...dialect.malformed,
})

export const post = (session: CheckContext, step: Step, body: string) =>
  session.ask(step, session.dialect.path, {
    method: 'POST',
    headers: session.callHeaders,
    body: body.replace('MODEL', session.model),
  })

/** Checks a proper call after the hostile requests. */
export function isStillThere(evidence: Evidence, exchange: Exchange) {
  const { status, end } = exchange
  const { gone } = evidence.facts
  return finding(
    'works-afterwards',
    status === 200 && end === 'complete' && gone === undefined,
    'a proper call afterwards',
    {
      expected: '200',
      actual: `${endText(exchange)}${gone === undefined ? '' : `; the gateway is gone: ${gone}`}`,
    },
    refs(exchange, servedBy(evidence, exchange)),
  )
}
