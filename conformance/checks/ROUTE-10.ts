// ROUTE-10: Each strategy does what it says (order, shares, rotation, price, latency, load).
import { type Check, type Finding, finding } from '../check.ts'
import type { Evidence, Exchange } from '../evidence.ts'
import { labelled, ref, requestsOf, servedBy, where } from '../lookup.ts'
import { DONE, delta } from '../scripted.ts'
import type { Session } from '../session.ts'
import { A, B, C, N, repeat, shares, targets } from './route.ts'

/** Calls held open over three targets: one of these then has four or more, which no call that is just over comes near. */
const HELD = 12

/** Short calls beside them. Who does not look at load keeps them all from one of three targets once in ten million times. */
const SHORT = 40

/** Some calls are held on all targets, then only those on one; short calls follow, each alone. */
async function besideABusyOne(session: Session): Promise<void> {
  const held: { gate: string; done: Promise<Exchange>; target: string }[] = []
  for (let n = 0; n < HELD; n++) {
    const gate = session.nonce()
    const script = [{ events: [delta('held'), { gate }, DONE] }]
    const options = { model: 'least-busy', stream: true, script, timeout: 60_000 }
    const { nonce, done } = await session.openChat('held', options)
    const entry = await session.witness.seen(nonce, 5_000)
    held.push({ gate, done, target: entry ? where(entry) : 'nowhere' })
  }
  const on = (target: string) => held.filter((each) => each.target === target)
  const busy = [A, B, C].reduce((most, target) => (on(target).length > on(most).length ? target : most))
  const letGo = async (calls: typeof held) => {
    for (const { gate } of calls) await session.witness.release(gate)
    await Promise.all(calls.map(({ done }) => done))
  }
  await letGo(held.filter(({ target }) => target !== busy))
  // What the client has seen the end of, the gateway may count a moment longer.
  await session.drain()
  await repeat(session, SHORT, 'least-busy')
  await letGo(on(busy))
}

/** No short call goes where the calls are that were open all the time: there always was an idle target beside it. */
function leastBusyPicks(evidence: Evidence): Finding {
  const short = labelled(evidence, 'least-busy')
  const over = Math.max(...short.map(({ end_at }) => end_at))
  const open = labelled(evidence, 'held').filter(({ end_at }) => end_at > over)
  const busy = new Set(open.flatMap((exchange) => requestsOf(evidence, exchange).map(where)))
  const went = targets(evidence, 'least-busy')
  const wrong = went.filter((target) => busy.has(target) || target === 'nowhere')
  return finding(
    'least-busy',
    open.length >= HELD / 3 && busy.size === 1 && went.length === SHORT && wrong.length === 0,
    `least-busy: while ${open.length} calls were open at ${[...busy].join(', ') || 'no target'} and none elsewhere, ${wrong.length} of ${went.length} went there too`,
    [...open, ...short].map(ref),
  )
}

/**
 * Nobody goes to the slow target while another is not measured yet, or was at most half as slow on average in what the
 * client itself saw: what a busy machine did to the others is in these figures too.
 */
function fastestPicks(evidence: Evidence): Finding {
  const seen = new Map<string, number[]>([A, B, C].map((target) => [target, []]))
  const average = (target: string) => {
    const times = seen.get(target)!
    return times.reduce((sum, each) => sum + each, 0) / times.length // none: NaN
  }
  let sure = 0
  let wrong = 0
  for (const exchange of labelled(evidence, 'fastest')) {
    const entry = servedBy(evidence, exchange)
    const target = entry ? where(entry) : 'nowhere'
    const known = seen.get(A)!.length > 0
    if (known && [B, C].some((other) => !(average(other) > average(A) / 2))) {
      sure++
      if (target === A) wrong++
    }
    seen.get(target)?.push((exchange.chunks[0]?.[1] ?? exchange.end_at) - exchange.at)
  }
  const ms = [...seen].map(
    ([target, times]) => `${target} ${times.length ? average(target).toFixed(0) : '?'} ms`,
  )
  return finding(
    'fastest',
    sure > 0 && wrong === 0,
    `fastest: of ${sure} calls that had a faster target, or one not measured yet, ${wrong} went to the slow one; seen on average: ${ms.join(', ')}`,
    labelled(evidence, 'fastest').map(ref),
  )
}

export const strategies = {
  id: 'ROUTE-10',
  needs: ['variant:strategies'],
  timeout: 90_000,
  async exercise(session) {
    await session.another('strategies')
    // First, while no latency is known. The first target is slow; once each was measured, nobody goes there any more.
    const slow = [
      {
        provider: 'openai',
        model: 'gpt-5-mini',
        events: [{ wait: 1_000 }, delta('slow'), DONE],
      },
      { scenario: 'plain' },
    ]
    for (let n = 0; n < 12; n++)
      await session.chat('fastest', { model: 'fastest', stream: true, script: slow })
    await repeat(session, 5, 'priority')
    await repeat(session, 9, 'round-robin')
    await repeat(session, 5, 'cheapest')
    for (const name of ['weighted', 'random'])
      for (let done = 0; done < N; done += 20)
        await Promise.all(Array.from({ length: 20 }, () => session.chat(name, { model: name })))
    await besideABusyOne(session)
  },
  judge({ evidence }) {
    const order = (label: string, expected: readonly string[]) => {
      const went = targets(evidence, label)
      const ok = went.length === expected.length && went.every((target, index) => target === expected[index])
      return finding(label, ok, `${label}: ${went.join(', ')}; expected ${expected.join(', ')}`)
    }
    return [
      order('priority', [A, A, A, A, A]),
      order('round-robin', [A, B, C, A, B, C, A, B, C]),
      order('cheapest', [C, C, C, C, C]),
      ...shares(evidence, 'weighted', { [A]: 0.6, [B]: 0.3, [C]: 0.1 }),
      ...shares(evidence, 'random', { [A]: 1 / 3, [B]: 1 / 3, [C]: 1 / 3 }),
      fastestPicks(evidence),
      leastBusyPicks(evidence),
    ]
  },
} satisfies Check
