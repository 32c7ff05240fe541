// What the checks of FAIL share.
import { finding } from '../check.ts'
import type { Evidence, Exchange } from '../evidence.ts'
import { refs, servedBy } from '../lookup.ts'
import type { Session } from '../session.ts'
import type { Step } from '../step.ts'
import { ended } from '../words.ts'

/** Bodies that are no request: of no surface, and of the one that is tested. */
export const malformed = ({ surface }: Session): Readonly<Record<string, string>> => ({
  empty: '',
  'no JSON': 'Where do you go?',
  'cut JSON': '{"model":"x","messages":[',
  'an array': '[]',
  'a string': '"auto"',
  ...surface.malformed,
})

export const post = (session: Session, step: Step, body: string) =>
  session.ask(step, session.surface.path, {
    method: 'POST',
    headers: session.callHeaders,
    body: body.replace('MODEL', session.model),
  })

/** What a proper call says about the hostile ones before it. */
export function isStillThere(evidence: Evidence, exchange: Exchange) {
  const { status, end } = exchange
  const { gone } = evidence.facts
  return finding(
    'works-afterwards',
    status === 200 && end === 'complete' && gone === undefined,
    'a proper call afterwards',
    {
      expected: '200',
      actual: `${ended(exchange)}${gone === undefined ? '' : `; the gateway is gone: ${gone}`}`,
    },
    refs(exchange, servedBy(evidence, exchange)),
  )
}
