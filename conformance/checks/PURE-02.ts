// PURE-02: Start-up and idle time cause no inference (idle window: 60 s or twice the declared probe interval).
import { type Check, finding } from '../runner/check.ts'
import { arrived, inferencesIn, names } from './window.ts'

/** Minimum time for which an idle gateway is watched, ms: in a full run and in a quick run. */
const IDLE_MS = 60_000
const QUICK_IDLE_MS = 5_000

export const startAndIdle = {
  id: 'PURE-02',
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
} satisfies Check
