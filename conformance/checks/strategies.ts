// ROUTE, this interface only: what each strategy does, what resolve foretells, what cools down, what fits.
// The routes of the variant `strategies` are named after their strategy. One family, one file.
import { isPlausible } from '../chance.ts'
import { type Check, type Finding, finding } from '../check.ts'
import type { Evidence, Exchange } from '../evidence.ts'
import { labelled, ref, refs, requestsOf, servedBy, where } from '../lookup.ts'
import { at, jsonOf } from '../reading.ts'
import { DONE, delta, failure } from '../scripted.ts'
import type { Session } from '../session.ts'

/** Where the calls of a label went, in their order. */
const targets = (evidence: Evidence, label: string): string[] =>
  labelled(evidence, label).map((exchange) => {
    const entry = servedBy(evidence, exchange)
    return entry ? where(entry) : 'nowhere'
  })

const repeat = async (session: Session, times: number, model: string, script?: object[]): Promise<void> => {
  for (let n = 0; n < times; n++) await session.chat(model, { model, ...(script && { script }) })
}

const resolveOf = (session: Session, model: string, label: string): Promise<Exchange> =>
  session.ask(label, `/api/cloud/model/resolve?model=${encodeURIComponent(model)}`)

const foretold = ({ body }: Exchange): string => {
  const json = jsonOf(body)
  return `${at(json, '/provider')}/${at(json, '/resolved_model')}`
}

/** Picks that are checked by their share; each share has a false alarm in ten million. */
const N = 240

function shares(evidence: Evidence, label: string, expected: Readonly<Record<string, number>>): Finding[] {
  const went = targets(evidence, label)
  return Object.entries(expected).map(([target, p]) => {
    const count = went.filter((each) => each === target).length
    return finding(
      went.length === N && isPlausible(count, went.length, p),
      `${label}: ${count} of ${went.length} calls went to ${target}, expected about ${(went.length * p).toFixed(0)}`,
    )
  })
}

const [A, B, C] = ['openai/gpt-5-mini', 'groq/openai/gpt-oss-120b', 'openai/gpt-5-nano'] as const

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
      return finding(ok, `${label}: ${went.join(', ')}; expected ${expected.join(', ')}`)
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

export const resolveEqualsPick = {
  id: 'ROUTE-11',
  needs: ['variant:strategies'],
  timeout: 60_000,
  async exercise(session) {
    await session.another('strategies')
    for (const model of ['priority', 'round-robin', 'cheapest'])
      for (let n = 0; n < 6; n++) {
        await resolveOf(session, model, `resolve ${model}`)
        await session.chat(model, { model })
      }
    await resolveOf(session, 'weighted', 'resolve weighted')
    for (let done = 0; done < N; done += 20)
      await Promise.all(Array.from({ length: 20 }, () => session.chat('weighted', { model: 'weighted' })))
  },
  judge({ evidence }) {
    const exact = ['priority', 'round-robin', 'cheapest'].flatMap((model) => {
      const told = labelled(evidence, `resolve ${model}`)
      const went = targets(evidence, model)
      return told.map((exchange, index) => {
        const ok = at(jsonOf(exchange.body), '/deterministic') === true && foretold(exchange) === went[index]
        return finding(
          ok,
          `${model}: resolve said ${foretold(exchange)}, the next call went to ${went[index]}`,
          refs(exchange),
        )
      })
    })
    const [weighted] = labelled(evidence, 'resolve weighted')
    const candidates = (at(jsonOf(weighted!.body), '/candidates') ?? []) as {
      provider: string
      model: string
      probability: number
    }[]
    const expected = Object.fromEntries(candidates.map((each) => [where(each), each.probability]))
    return [
      ...exact,
      finding(
        candidates.length === 3 && at(jsonOf(weighted!.body), '/deterministic') === false,
        'weighted is not deterministic, and has three candidates',
        refs(weighted),
      ),
      ...shares(evidence, 'weighted', expected),
    ]
  },
} satisfies Check

/** So long the provider asks to be left alone, s: time for a few calls meanwhile, also on a busy machine. */
const RETRY_AFTER = 3

export const coolingIsHonoured = {
  id: 'ROUTE-09',
  needs: ['variant:strategies'],
  async exercise(session) {
    await session.another('strategies')
    const busy = {
      ...failure(429),
      headers: { 'retry-after': String(RETRY_AFTER) },
    }
    await session.chat('cools', {
      model: 'priority',
      script: [{ provider: 'openai', model: 'gpt-5-mini', ...busy }, { scenario: 'plain' }],
    })
    await resolveOf(session, 'priority', 'resolve')
    await repeat(session, 3, 'priority')
    session.mark('waiting_from')
    await session.wait(RETRY_AFTER * 1_000 + 200)
    session.mark('waiting_to')
    await session.chat('again', { model: 'priority' })
  },
  judge({ evidence }) {
    const [cools, again] = [labelled(evidence, 'cools')[0]!, labelled(evidence, 'again')[0]!]
    const { waiting_from: from = 0, waiting_to: to = 0 } = evidence.marks
    const probes = evidence.ledger.filter(({ at: time }) => time > from && time < to)
    const state = at(jsonOf(labelled(evidence, 'resolve')[0]!.body), '/candidates/0/state')
    // What a slow machine asked too late proves nothing: it may be well again.
    const meanwhile = labelled(evidence, 'priority').filter(
      ({ end_at }) => end_at < cools.at + RETRY_AFTER * 1_000,
    )
    const went = meanwhile.map((exchange) => requestsOf(evidence, exchange).map(where).join(', '))
    return [
      finding(
        requestsOf(evidence, cools).map(where).join() === [A, B].join(),
        `a 429 moved the call on: ${requestsOf(evidence, cools).map(where).join(', ')}`,
        refs(cools),
      ),
      finding(
        state === 'cooling',
        `resolve says that it is ${state}`,
        refs(labelled(evidence, 'resolve')[0]),
      ),
      finding(
        went.length > 0 && went.every((target) => target === B),
        `while it cools, calls went to ${went.join(', ')}`,
        meanwhile.map(ref),
      ),
      finding(probes.length === 0, `${probes.length} requests while nothing was asked`),
      finding(
        requestsOf(evidence, again).map(where).join() === A,
        `after its Retry-After of ${RETRY_AFTER} s the next call went to ${requestsOf(evidence, again).map(where).join(', ')}`,
        refs(again),
      ),
    ]
  },
} satisfies Check

const TOOLS = [
  { type: 'function', function: { name: 'find_road', parameters: { type: 'object', properties: {} } } },
]
const IMAGE = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }

export const capabilities = {
  id: 'ROUTE-12',
  needs: ['variant:strategies'],
  async exercise(session) {
    await session.another('strategies')
    await session.chat('plain', { model: 'capable' })
    await session.chat('tools', { model: 'capable', body: { tools: TOOLS } })
    const messages = [{ role: 'user', content: [{ type: 'text', text: 'What is this?' }, IMAGE] }]
    await session.chat('nobody sees', { model: 'capable', body: { messages } })
  },
  judge({ evidence }) {
    const [plain, tools, image] = ['plain', 'tools', 'nobody sees'].map(
      (label) => labelled(evidence, label)[0]!,
    )
    const seen = evidence.ledger.filter(({ at: time }) => time >= image!.at)
    return [
      finding(
        targets(evidence, 'plain').join() === 'openai/no-tools',
        `a plain call went to ${targets(evidence, 'plain').join()}`,
        refs(plain),
      ),
      finding(
        targets(evidence, 'tools').join() === 'groq/no-images',
        `a call with tools went to ${targets(evidence, 'tools').join()}, the only target that has them`,
        refs(tools),
      ),
      finding(
        image!.status === 503 &&
          at(jsonOf(image!.body), '/error/code') === 'no_target_available' &&
          seen.length === 0,
        `an image that no target takes: ${image!.status} ${at(jsonOf(image!.body), '/error/code')}, ${seen.length} requests`,
        refs(image),
      ),
    ]
  },
} satisfies Check
