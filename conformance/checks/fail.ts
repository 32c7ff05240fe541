// What the checks of FAIL share.
import { finding } from '../check.ts'
import type { Evidence, Exchange } from '../evidence.ts'
import { refs, servedBy } from '../lookup.ts'
import type { Session } from '../session.ts'
import type { Step } from '../step.ts'
import { ended } from '../words.ts'

export const PATH = '/v1/chat/completions'

export const JSON_TYPE = { 'content-type': 'application/json' }

/** Bodies that are no chat request. */
export const MALFORMED: Readonly<Record<string, string>> = {
  empty: '',
  'no JSON': 'Where do you go?',
  'cut JSON': '{"model":"x","messages":[',
  'an array': '[]',
  'a string': '"auto"',
  'no messages': '{"model":"MODEL"}',
  'messages of the wrong type': '{"model":"MODEL","messages":"hello"}',
  'model of the wrong type': '{"model":7,"messages":[{"role":"user","content":"x"}]}',
  'temperature of the wrong type':
    '{"model":"MODEL","messages":[{"role":"user","content":"x"}],"temperature":"hot"}',
}

export const post = (session: Session, step: Step, body: string) =>
  session.ask(step, PATH, { method: 'POST', headers: JSON_TYPE, body: body.replace('MODEL', session.model) })

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
