// PURE-07: A call that is refused because of its credentials, body or model causes no inference.
import { nonceIn, writeNonce } from '../../mocks/ledger.ts'
import { ref } from '../dialects/lookup.ts'
import { step } from '../evidence/step.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'
import { inferencesIn, measuredWindow, names, noneArrived } from './window.ts'

const refused = step<{ why: string }>('refused')

export const refusedCallsSpendNothing = {
  id: 'PURE-07',
  hostile: true,
  timeout: 180_000,
  async exercise(session) {
    const { capabilities } = session.target
    const refuse = (why: string, body: string, key?: string | null) =>
      session.ask(refused.with({ why }), session.dialect.path, {
        method: 'POST',
        headers: session.callHeaders,
        body,
        ...(key !== undefined && { key }),
      })
    const call = (model: string) =>
      JSON.stringify(
        session.dialect.request({ model, prompt: writeNonce(session.nonce()), stream: false, body: {} }),
      )
    await measuredWindow(session, async () => {
      await refuse('cut body', call(session.model).slice(0, -2))
      await refuse('no object', `[${call(session.model)}]`)
      await refuse('no model', call(session.model).replace('"model"', '"mode"'))
      await refuse('unknown model', call('no-such-provider-here/no-such-model'))
      if (capabilities.gateway_keys) {
        await refuse('no key', call(session.model), null)
        await refuse('wrong key', call(session.model), 'wrong-key-of-the-suite')
      }
    })
  },
  judge({ evidence }) {
    const asked = refused.in(evidence)
    // A call that the provider refused costs nothing, and an accepted call was not refused.
    const spentIn = (entries: typeof evidence.ledger) =>
      inferencesIn(entries).filter(({ answer }) => (answer.status ?? 0) < 400)
    const each = asked.map((each) => {
      const nonce = nonceIn(each.request.body ?? '')
      const spent = spentIn(evidence.ledger.filter((entry) => entry.nonce === nonce))
      const isRefused = each.status === null ? each.end !== 'timed_out' : each.status >= 400
      return finding(
        'refused-calls-spend-nothing',
        !isRefused || spent.length === 0,
        `what providers answered to a call with ${each.details.why}`,
        {
          expected: isRefused ? 'none' : 'anything, it was let through',
          actual: `${spent.length} inferences; the client got ${endText(each)}`,
        },
        [ref(each), ...names(spent)],
      )
    })
    return [...each, noneArrived(evidence, 'further inferences while refusing', spentIn)]
  },
} satisfies Check
