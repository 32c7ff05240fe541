// Checks that start and idle time, refused calls and a whole run cause no unexplained inference.

import { nonceIn, writeNonce } from '../../../mocks/ledger.ts'
import { ref } from '../../dialects/lookup.ts'
import { endText, step } from '../../evidence/step.ts'
import { finding } from '../check.ts'
import { family } from '../family.ts'
import { auditLedger } from './ledger-audit.ts'
import { arrived, inferencesIn, measuredWindow, names, noneArrived } from './window.ts'

const check = family()

/** Minimum time for which an idle gateway is watched, ms: in a full run and in a quick run. */
const IDLE_MS = 60_000
const QUICK_IDLE_MS = 5_000

check('PURE-02', {
  timeout: 180_000,
  async exercise(session) {
    const { capabilities, start } = session.target
    // Start-up can be watched only if the suite may start an instance.
    if (!('url' in start)) {
      session.mark('start_from')
      await session.another(null)
      await session.drain()
      session.mark('start_to')
    }
    if (!(await session.controlCall('before'))) session.untestable('no control call reached the mock')
    await session.drain()
    session.mark('idle_from')
    await session.wait(session.quick ? QUICK_IDLE_MS : Math.max(IDLE_MS, 2 * capabilities.probe_interval_ms))
    session.mark('idle_to')
    if (!(await session.controlCall('after')))
      session.untestable('no control call reached the mock after the idle time')
  },
  judge({ evidence }) {
    const inferences = (from: string, to: string) => inferencesIn(arrived(evidence, from, to))
    const idle = inferences('idle_from', 'idle_to')
    const seconds = Math.round((evidence.marks.idle_to! - evidence.marks.idle_from!) / 100) / 10
    const findings = [
      finding(
        'idle-spends-nothing',
        idle.length === 0,
        `inferences in ${seconds} s of idle time`,
        { expected: 'none', actual: String(idle.length) },
        names(idle),
      ),
    ]
    if (evidence.marks.start_from !== undefined) {
      const started = inferences('start_from', 'start_to')
      findings.push(
        finding(
          'start-spends-nothing',
          started.length === 0,
          'inferences from the start until it was ready',
          { expected: 'none', actual: String(started.length) },
          names(started),
        ),
      )
    }
    return findings
  },
})

const refused = step<{ why: string }>('refused')

check('PURE-07', {
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
})

check('PURE-08', { overRun: true, judge: ({ all, target }) => auditLedger(all, target) })
