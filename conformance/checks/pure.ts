// PURE: reading never spends. Every count here is taken in a no-inference window. One family, one file.
import { nonceIn, writeNonce } from '../../mocks/ledger.ts'
import { type Check, type Finding, finding } from '../check.ts'
import type { Evidence } from '../evidence.ts'
import { ref } from '../lookup.ts'
import { at, jsonOf } from '../reading.ts'
import type { Session } from '../session.ts'
import { arrived, BASELINE, inferencesIn, measuredWindow, names, noneArrived } from '../window.ts'

/** Calls the read paths with every method, with a query of their own and with a foreign one, twice. */
async function readEverything(session: Session): Promise<void> {
  for (const path of session.target.capabilities.read_paths)
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'GET']) {
      const { keys } = session.running
      await session.ask('read', path, { method, key: keys.reader })
      const query = path.includes('?') ? '&limit=1' : '?limit=1'
      if (method === 'GET') await session.ask('read', path + query, { key: keys.reader })
    }
}

/** The finding of a window of reads, which were answered, or it would prove nothing. */
function readsSpentNothing(evidence: Evidence, what: string): Finding[] {
  const reads = evidence.exchanges.filter(({ label }) => label === 'read')
  const paths = [...new Set(reads.map(({ request }) => request.path.split('?')[0]!))]
  const silent = paths.filter(
    (path) =>
      !reads.some(
        ({ request, status }) =>
          request.method === 'GET' && request.path.split('?')[0] === path && status === 200,
      ),
  )
  return [
    finding(
      reads.length > 0 && silent.length === 0,
      `${reads.length} reads were made; never answered with 200: ${silent.join(', ') || 'none'}`,
      reads.filter(({ request }) => silent.includes(request.path.split('?')[0]!)).map(ref),
    ),
    noneArrived(evidence, `inferences while ${what}`, inferencesIn),
  ]
}

export const readsNeverSpend = {
  id: 'PURE-01',
  needs: ['read_paths'],
  timeout: 180_000,
  exercise: (session) => measuredWindow(session, () => readEverything(session)),
  judge: ({ evidence }) => readsSpentNothing(evidence, 'reading'),
} satisfies Check

export const startAndIdle = {
  id: 'PURE-02',
  timeout: 180_000,
  async exercise(session) {
    const { capabilities, start } = session.target
    // A start can only be watched where the suite may start an instance of its own.
    if (!('url' in start)) {
      session.mark('start_from')
      await session.another(null)
      await session.drain()
      session.mark('start_to')
    }
    if (!(await session.controlCall('before'))) session.untestable('no control call reached the witness')
    await session.drain()
    session.mark('idle_from')
    await session.wait(Math.max(BASELINE, 2 * capabilities.probe_interval_ms))
    session.mark('idle_to')
    if (!(await session.controlCall('after')))
      session.untestable('no control call reached the witness after the idle time')
  },
  judge({ evidence }) {
    const inferences = (from: string, to: string) => inferencesIn(arrived(evidence, from, to))
    const idle = inferences('idle_from', 'idle_to')
    const seconds = Math.round((evidence.marks.idle_to! - evidence.marks.idle_from!) / 100) / 10
    const findings = [
      finding(idle.length === 0, `${idle.length} inferences in ${seconds} s of idle time`, names(idle)),
    ]
    if (evidence.marks.start_from !== undefined) {
      const started = inferences('start_from', 'start_to')
      findings.push(
        finding(
          started.length === 0,
          `${started.length} inferences from the start until it was ready`,
          names(started),
        ),
      )
    }
    return findings
  },
} satisfies Check

export const readsAskNobody = {
  id: 'PURE-03',
  needs: ['read_paths'],
  shares: 'PURE-01',
  judge: ({ evidence }) => [noneArrived(evidence, 'requests of any kind while reading')],
} satisfies Check

/** So often a route is resolved in a row, without a call in between. */
const IN_A_ROW = 54
/** The longest turn that is looked for: two targets with the weights 7 and 3 have ten steps. Longer ones are not seen. */
const LONGEST_TURN = 10

/**
 * Whether answers come in turns, each a step further than the one before. Answers that are drawn by chance look like
 * that in fewer than one of two million rows of this length, whatever their weights (most often with about 9 to 1);
 * always the same one is no turn.
 */
function areTurns(answers: readonly string[]): boolean {
  if (answers.length < IN_A_ROW || new Set(answers).size === 1) return false
  const lengths = Array.from({ length: LONGEST_TURN - 1 }, (_, index) => index + 2)
  return lengths.some((length) =>
    answers.every((answer, index) => index < length || answer === answers[index - length]),
  )
}

export const resolvingMovesNothing = {
  id: 'PURE-04',
  needs: ['resolve', 'logical'],
  timeout: 180_000,
  async exercise(session) {
    const { resolve } = session.target.capabilities
    const pathOf = (id: string) => resolve!.path.replace('{model}', encodeURIComponent(id))
    await measuredWindow(session, async () => {
      for (const { id } of session.target.models.logical)
        for (let times = 0; times < 3; times++) await session.ask('read', pathOf(id))
    })
    for (const { id } of session.target.models.logical)
      for (let times = 0; times < IN_A_ROW; times++) await session.ask(`resolve ${id}`, pathOf(id))
  },
  judge({ evidence, target }) {
    const findings = readsSpentNothing(evidence, 'resolving')
    for (const { id } of target.models.logical) {
      const answers = evidence.exchanges.filter(({ label }) => label === `resolve ${id}`)
      const { provider, model } = target.capabilities.resolve!
      const told = answers.map(({ body }) => {
        const json = jsonOf(body)
        return JSON.stringify([at(json, provider), at(json, model)])
      })
      const named = answers.every(({ body }) => typeof at(jsonOf(body), model) === 'string')
      const ok = named && told.length === IN_A_ROW && !areTurns(told)
      const kinds = [...new Set(told)].join(' and ')
      findings.push(
        finding(
          ok,
          `"${id}" resolved ${answers.length} times in a row to ${kinds}${areTurns(told) ? ', in turns: asking moves it on' : ''}`,
          answers.slice(0, LONGEST_TURN + 1).map(ref),
        ),
      )
    }
    return findings
  },
} satisfies Check

export const otherMethods = {
  id: 'PURE-06',
  needs: ['read_paths'],
  async exercise(session) {
    const { keys } = session.running
    for (const path of session.target.capabilities.read_paths) {
      await session.ask('get', path, { key: keys.reader })
      await session.ask('head', path, { method: 'HEAD', key: keys.reader })
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
        await session.ask('other', path, {
          method,
          key: keys.reader,
          body: method === 'DELETE' ? null : '{}',
        })
    }
  },
  judge({ evidence }) {
    const of = (label: string) => evidence.exchanges.filter((each) => each.label === label)
    const got = new Map(of('get').map((each) => [each.request.path, each]))
    const same = ['content-type', 'content-length']
    return [
      ...of('head').map((head) => {
        const get = got.get(head.request.path)!
        const different = same.filter(
          (name) => head.headers[name] !== get.headers[name] && !Number(head.headers[name]),
        )
        const ok =
          head.end === 'complete' && head.body === '' && head.status === get.status && different.length === 0
        return finding(
          ok,
          `HEAD ${head.request.path}: ${head.status}, ${head.body.length} bytes of body, ${different.join(' and ') || 'no header'} differs from GET`,
          [ref(head), ref(get)],
        )
      }),
      ...of('other').map((each) =>
        finding(
          each.status === 405 && /\bGET\b/.test(each.headers.allow ?? ''),
          `${each.request.method} ${each.request.path}: status ${each.status}, Allow: ${each.headers.allow ?? 'none'}`,
          [ref(each)],
        ),
      ),
    ]
  },
} satisfies Check

export const refusedCallsSpendNothing = {
  id: 'PURE-07',
  hostile: true,
  timeout: 180_000,
  async exercise(session) {
    const { capabilities } = session.target
    const refuse = (label: string, body: string, key?: string | null) =>
      session.ask(label, '/v1/chat/completions', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
        ...(key !== undefined && { key }),
      })
    const call = (model: string) =>
      JSON.stringify({ model, messages: [{ role: 'user', content: writeNonce(session.nonce()) }] })
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
    const asked = evidence.exchanges.filter(({ nonce }) => nonce === null)
    const each = asked.map((each) => {
      const nonce = nonceIn(each.request.body ?? '')
      // What a provider itself refused was not spent; and what the gateway lets through, it does not refuse.
      const spent = evidence.ledger.filter(
        (entry) => entry.nonce === nonce && entry.kind === 'inference' && (entry.answer.status ?? 0) < 400,
      )
      const refused = each.status === null ? each.end !== 'timed_out' : each.status >= 400
      return finding(
        !refused || spent.length === 0,
        `${each.label}: the client got ${each.status ?? each.error}, the provider answered ${spent.length} inferences`,
        [ref(each), ...names(spent)],
      )
    })
    return [...each, noneArrived(evidence, 'further inferences while refusing', inferencesIn)]
  },
} satisfies Check
