// RSP-21: Each response over a WebSocket is on record.
import { idsIn, listRequest, refs } from '../dialects/lookup.ts'
import { readAnswer } from '../dialects/registry.ts'
import { step } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, doubt, finding } from '../runner/check.ts'

const steps = {
  before: step('the log before'),
  message: step('a message'),
  after: step('the log after'),
}

const MESSAGES = 3

export const socketsAreOnRecord = {
  id: 'RSP-21',
  needs: ['responses', 'websocket', 'list'],
  dialect: 'responses',
  async exercise(session) {
    const log = session.target.observability.log!
    const { path, ...request } = listRequest(log)
    const key = session.running.keys.reader
    await session.ask(steps.before, path, { ...request, key })
    for (let n = 0; n < MESSAGES; n++) await session.chatOverSocket(steps.message)
    await session.wait(log.lag_ms)
    await session.ask(steps.after, path, { ...request, key })
  },
  judge({ evidence, target }) {
    const [[before], [after], messages] = [
      steps.before.in(evidence),
      steps.after.in(evidence),
      steps.message.in(evidence),
    ]
    const failed = messages.find((each) => readAnswer(each).done === 0)
    if (failed) return [doubt('is-on-record', `A message was not answered: ${endText(failed)}`, refs(failed))]
    const old = new Set(idsIn(target, before!))
    const fresh = idsIn(target, after!).filter((id) => !old.has(id))
    return [
      finding(
        'is-on-record',
        fresh.length >= MESSAGES,
        `new records in the log after ${MESSAGES} responses over WebSockets`,
        { expected: `at least ${MESSAGES}`, actual: String(fresh.length) },
        refs(before, after, ...messages),
      ),
    ]
  },
} satisfies Check
