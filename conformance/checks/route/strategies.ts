// Checks of strategies and cool-downs.
import { clock } from '../../../src/shared/clock.ts'
import { delta, END, scriptedFailure } from '../../dialects/dialect.ts'
import { ref, refs, requestsOf, servedBy, where } from '../../dialects/lookup.ts'
import { type Evidence, type Exchange, listed, step } from '../../evidence/evidence.ts'
import { at, jsonOf } from '../../evidence/reading.ts'
import { doubt, type Finding, family, finding } from '../check.ts'
import type { CheckContext } from '../context.ts'
import {
  A,
  B,
  C,
  N,
  ofModel,
  repeat,
  repeatedCall,
  resolveOf,
  resolveStep,
  shares,
  targets,
} from './parts.ts'

const check = family({ needs: ['variant:strategies'] })

const cooling = { cools: step('cools'), again: step('again') }

/** Seconds in the provider's `Retry-After`: time for a few calls, longer on a busy machine. */
const RETRY_AFTER = [3, 15, 45] as const

async function coolDown(session: CheckContext, seconds: number): Promise<void> {
  const busy = { ...scriptedFailure(429), headers: { 'retry-after': String(seconds) } }
  session.note('retry_after', seconds)
  await session.chat(cooling.cools, {
    model: 'priority',
    script: [{ provider: 'openai', model: 'gpt-5-mini', ...busy }, { scenario: 'plain' }],
  })
  await resolveOf(session, 'priority')
  await repeat(session, 3, 'priority')
  const [cools] = cooling.cools.in(await session.soFar()).slice(-1)
  await session.wait(Math.max(0, cools!.end_at + seconds * 1_000 + 500 - clock.monotonic()))
  await session.chat(cooling.again, { model: 'priority' })
}

/**
 * Returns calls made while the target cooled down in the last round. Calls that a slow machine made too late
 * prove nothing.
 */
function inTime({ exchanges, facts }: Pick<Evidence, 'exchanges' | 'facts'>) {
  const cools = cooling.cools.in({ exchanges }).at(-1)!
  const until = cools.at + Number(facts.retry_after ?? RETRY_AFTER[0]) * 1_000
  const early = <E extends Exchange>(all: readonly E[]) =>
    all.filter(({ at, end_at }) => at >= cools.at && end_at < until)
  return {
    cools,
    calls: early(repeatedCall.in({ exchanges })),
    resolved: early(resolveStep.in({ exchanges })),
  }
}

check('ROUTE-09', {
  timeout: 90_000,
  async exercise(session) {
    for (const seconds of RETRY_AFTER) {
      await session.another('strategies')
      await coolDown(session, seconds)
      const { calls, resolved } = inTime(await session.soFar())
      if (calls.length > 0 && resolved.length > 0) break
    }
  },
  judge({ evidence }) {
    const { cools, calls: meanwhile, resolved } = inTime(evidence)
    const again = cooling.again.in(evidence).at(-1)!
    // Entries without a nonce of the suite's calls.
    const ours = new Set(evidence.exchanges.map(({ nonce }) => nonce))
    const probes = evidence.ledger.filter(
      ({ at, nonce }) => at > cools.at && (nonce === null || !ours.has(nonce)),
    )
    const state = at(jsonOf(resolved[0]?.body ?? ''), '/candidates/0/state')
    const late = (id: string, what: string) =>
      doubt(id, `${what}: the machine was too slow to ask while the target cooled`, [ref(cools)])
    const went = meanwhile.map((exchange) => requestsOf(evidence, exchange).map(where).join(', '))
    return [
      {
        '429-moves-on': [
          requestsOf(evidence, cools).map(where).join() === [A, B].join(),
          'where a call went whose first target answered 429',
          `${A}, then ${B}`,
          listed(requestsOf(evidence, cools).map(where)),
          refs(cools),
        ],
      },
      resolved.length === 0
        ? late('resolve-says-cooling', 'what resolve says of a target that answered 429 with Retry-After')
        : {
            'resolve-says-cooling': [
              state === 'cooling',
              'what resolve says of a target that answered 429 with Retry-After',
              'cooling',
              String(state),
              refs(resolved[0]),
            ],
          },
      went.length === 0
        ? late('cooling-is-passed-over', 'where calls went while a target cooled after its 429')
        : {
            'cooling-is-passed-over': [
              went.every((target) => target === B),
              'where calls went while a target cooled after its 429',
              B,
              listed(went),
              meanwhile.map(ref),
            ],
          },
      {
        'no-health-calls': [
          probes.length === 0,
          'requests that reached a provider while a target cooled, and that no call asked for',
          'none',
          String(probes.length),
          refs(...probes),
        ],
        'returns-after-retry-after': [
          requestsOf(evidence, again).map(where).join() === A,
          `where the next call went after the 429 of ${A} and its Retry-After of ${evidence.facts.retry_after ?? RETRY_AFTER[0]} s`,
          A,
          listed(requestsOf(evidence, again).map(where)),
          refs(again),
        ],
      },
    ]
  },
})

const holding = step('held')

/**
 * Number of calls held open over three targets. One target then has at least four of them, clearly more than
 * one ended call that is still counted.
 */
const HELD_CALLS = 12

/**
 * Number of additional short calls. If a gateway ignores load, all of them avoid one of three targets only
 * once in ten million runs.
 */
const SHORT_CALLS = 40

/** Holds calls on all targets, releases those on two of them, and then makes short calls one after the other. */
async function besideABusyOne(session: CheckContext): Promise<void> {
  const held: { gate: string; done: Promise<Exchange>; target: string }[] = []
  for (let n = 0; n < HELD_CALLS; n++) {
    const gate = session.nonce()
    const script = [{ events: [delta('held'), { gate }, END] }]
    const options = { model: 'least-busy', stream: true, script, timeout: 60_000 }
    const { nonce, done } = await session.openChat(holding, options)
    const entry = await session.mock.seen(nonce, 5_000)
    held.push({ gate, done, target: entry ? where(entry) : 'nowhere' })
  }
  const on = (target: string) => held.filter((each) => each.target === target)
  const busy = [A, B, C].reduce((most, target) => (on(target).length > on(most).length ? target : most))
  const letGo = async (calls: typeof held) => {
    for (const { gate } of calls) await session.mock.release(gate)
    await Promise.all(calls.map(({ done }) => done))
  }
  await letGo(held.filter(({ target }) => target !== busy))
  // A gateway may count a call for a moment after its client has seen the end.
  await session.drain()
  await repeat(session, SHORT_CALLS, 'least-busy')
  await letGo(on(busy))
}

/** Checks that no short call goes to the target with the held calls: another target was always idle. */
function leastBusyPicks(evidence: Evidence): Finding {
  const short = ofModel(repeatedCall.in(evidence), 'least-busy')
  const over = Math.max(...short.map(({ end_at }) => end_at))
  const open = holding.in(evidence).filter(({ end_at }) => end_at > over)
  const busy = new Set(open.flatMap((exchange) => requestsOf(evidence, exchange).map(where)))
  const went = targets(evidence, short)
  const wrong = went.filter((target) => busy.has(target) || target === 'nowhere')
  return finding(
    'least-busy',
    open.length >= HELD_CALLS / 3 && busy.size === 1 && went.length === SHORT_CALLS && wrong.length === 0,
    `short calls that went where ${open.length} were open, and none elsewhere`,
    {
      expected: `none of ${SHORT_CALLS}, with at least ${HELD_CALLS / 3} open at one target`,
      actual: `${wrong.length} of ${went.length}, with ${open.length} open at ${listed([...busy], 'no target')}`,
    },
    [...open, ...short].map(ref),
  )
}

/**
 * Checks that no call goes to the slow target while another target is unmeasured, or took at most half as
 * long on average. The client's own measurements are used, so they include the effects of a busy machine.
 */
function fastestPicks(evidence: Evidence): Finding {
  const seen = new Map<string, number[]>([A, B, C].map((target) => [target, []]))
  const average = (target: string) => {
    const times = seen.get(target)!
    return times.reduce((sum, each) => sum + each, 0) / times.length // NaN without times
  }
  let sure = 0
  let wrong = 0
  for (const exchange of ofModel(repeatedCall.in(evidence), 'fastest')) {
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
    'calls that went to the slow target although another was faster, or not measured yet',
    { expected: 'none, of at least one', actual: `${wrong} of ${sure}; seen on average: ${ms.join(', ')}` },
    ofModel(repeatedCall.in(evidence), 'fastest').map(ref),
  )
}

check('ROUTE-10', {
  timeout: 90_000,
  async exercise(session) {
    await session.another('strategies')
    // Runs first, while no latency is known. The first target is slow: once every target is measured, no call
    // may go there.
    const slow = [
      { provider: 'openai', model: 'gpt-5-mini', events: [{ wait: 1_000 }, delta('slow'), END] },
      { scenario: 'plain' },
    ]
    for (let n = 0; n < 12; n++)
      await session.chat(repeatedCall.with({ model: 'fastest' }), {
        model: 'fastest',
        stream: true,
        script: slow,
      })
    await repeat(session, 5, 'priority')
    await repeat(session, 9, 'round-robin')
    await repeat(session, 5, 'cheapest')
    for (const name of ['weighted', 'random'])
      for (let done = 0; done < N; done += 20)
        await Promise.all(
          Array.from({ length: 20 }, () => session.chat(repeatedCall.with({ model: name }), { model: name })),
        )
    await besideABusyOne(session)
  },
  judge({ evidence }) {
    const order = (model: string, expected: readonly string[]) => {
      const calls = ofModel(repeatedCall.in(evidence), model)
      const went = targets(evidence, calls)
      const ok = went.length === expected.length && went.every((target, index) => target === expected[index])
      return finding(
        model,
        ok,
        `the targets of ${model}`,
        { expected: expected.join(', '), actual: listed(went) },
        calls.map(ref),
      )
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
})

const foretold = ({ body }: Exchange): string => {
  const json = jsonOf(body)
  return `${at(json, '/provider')}/${at(json, '/resolved_model')}`
}

check('ROUTE-11', {
  timeout: 60_000,
  async exercise(session) {
    await session.another('strategies')
    for (const model of ['priority', 'round-robin', 'cheapest'])
      for (let n = 0; n < 6; n++) {
        await resolveOf(session, model)
        await session.chat(repeatedCall.with({ model }), { model })
      }
    await resolveOf(session, 'weighted')
    for (let done = 0; done < N; done += 20)
      await Promise.all(
        Array.from({ length: 20 }, () =>
          session.chat(repeatedCall.with({ model: 'weighted' }), { model: 'weighted' }),
        ),
      )
  },
  judge({ evidence }) {
    const exact = ['priority', 'round-robin', 'cheapest'].flatMap((model) => {
      const told = ofModel(resolveStep.in(evidence), model)
      const went = targets(evidence, ofModel(repeatedCall.in(evidence), model))
      return told.map((exchange, index) => {
        // The cheapest target may depend on the length of the call and on its conversation.
        const isSure = at(jsonOf(exchange.body), '/deterministic') === true
        const ok = (isSure || model === 'cheapest') && foretold(exchange) === went[index]
        return finding(
          'resolve-foretells',
          ok,
          `what resolve said of ${model}, before a call`,
          {
            expected: `${went[index] ?? 'nowhere'}, where it went${model === 'cheapest' ? '' : ', and deterministic'}`,
            actual: `${foretold(exchange)}${isSure ? ', and deterministic' : ''}`,
          },
          refs(exchange),
        )
      })
    })
    const [weighted] = ofModel(resolveStep.in(evidence), 'weighted')
    const candidates = (at(jsonOf(weighted!.body), '/candidates') ?? []) as {
      provider: string
      model: string
      probability: number
    }[]
    const expected = Object.fromEntries(candidates.map((each) => [where(each), each.probability]))
    return [
      ...exact,
      {
        'weighted-is-not-deterministic': [
          candidates.length === 3 && at(jsonOf(weighted!.body), '/deterministic') === false,
          'what resolve says of weighted',
          'not deterministic, 3 candidates',
          `${at(jsonOf(weighted!.body), '/deterministic') === false ? 'not ' : ''}deterministic, ${candidates.length} candidates`,
          refs(weighted),
        ],
      },
      ...shares(evidence, 'weighted', expected),
    ]
  },
})
