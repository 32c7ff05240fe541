// PURE: reading never spends. Every zero here is bound to life: it lies between two plants that the witness saw. And
// every window is held against another without requests: what comes by itself is nobody's reading.
import { nonceIn, writeNonce } from '../../mocks/ledger.ts'
import { isToldApart } from '../chance.ts'
import { type Check, type Finding, finding } from '../check.ts'
import type { Evidence } from '../evidence.ts'
import { ref } from '../lookup.ts'
import { at, jsonOf } from '../reading.ts'
import type { Session } from '../session.ts'

/** How long a window without requests lasts at least, ms. */
const QUIET = 2_000

/** Calls the read paths with every method, with a query of their own and with a foreign one, twice. */
async function readEverything(session: Session): Promise<void> {
  for (const path of session.target.has.read_paths)
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'GET']) {
      const { keys } = session.running
      await session.ask('read', path, { method, key: keys.reader })
      const query = path.includes('?') ? '&limit=1' : '?limit=1'
      if (method === 'GET') await session.ask('read', path + query, { key: keys.reader })
    }
}

/** A call that must be seen at the witness, or a zero there would prove nothing. */
async function plant(session: Session, name: string): Promise<void> {
  if (!(await session.plant(name)))
    session.untestable(`the plant "${name}" did not reach the witness, so a zero there would prove nothing`)
}

/**
 * A window between two plants in which nothing but `during` happens, and before it one in which nothing happens at
 * all. When something came meanwhile that no call of ours asked for, a second quiet one follows, as long as `during`
 * took and as two of the target's own probes are apart: so what comes by itself is measured, however seldom it comes.
 */
async function measuredWindow(session: Session, during: () => Promise<void>): Promise<void> {
  const quiet = async (name: string, ms: number) => {
    await plant(session, `before the ${name}`)
    await session.drain()
    session.mark(`${name}_from`)
    await session.wait(ms)
    session.mark(`${name}_to`)
  }
  await quiet('quiet', QUIET)
  await plant(session, 'before')
  await session.drain()
  session.mark('from')
  await during()
  await session.drain()
  session.mark('to')
  await plant(session, 'after')
  const { marks, ...rest } = await session.soFar()
  if (arrived({ marks, ...rest }, 'from', 'to').length === 0) return
  const window = marks.to! - marks.from!
  await quiet('second_quiet', Math.max(QUIET, window, 2 * session.target.has.probe_interval_ms))
}

type Notebook = Pick<Evidence, 'exchanges' | 'ledger' | 'marks'>

/** What the witness saw between two marks, but for what our own calls asked for; nothing where there was no such window. */
function arrived({ ledger, marks, exchanges }: Notebook, from: string, to: string) {
  const ours = new Set(exchanges.map(({ request }) => nonceIn(request.body ?? '')))
  return ledger.filter(
    (entry) =>
      entry.at >= marks[from]! && entry.at <= marks[to]! && !(entry.nonce !== null && ours.has(entry.nonce)),
  )
}

const inferencesIn = (entries: Evidence['ledger']) => entries.filter(({ kind }) => kind === 'inference')

/** What came while nothing was asked, in both quiet windows. */
const background = (notebook: Notebook) => [
  ...arrived(notebook, 'quiet_from', 'quiet_to'),
  ...arrived(notebook, 'second_quiet_from', 'second_quiet_to'),
]

/** Seconds, of both quiet windows. */
function quietTime({ marks }: Notebook): string {
  const lasted = (name: string) => (marks[`${name}_to`] ?? 0) - (marks[`${name}_from`] ?? 0)
  return `${((lasted('quiet') + lasted('second_quiet')) / 1000).toFixed(1)} s`
}

const names = (entries: Evidence['ledger']): string[] => entries.map(({ n }) => `@${n}`)

/** Ends the probe where nobody can say whether what came was caused, or would have come by itself. */
async function tellApart(session: Session, what: string): Promise<void> {
  const notebook = await session.soFar()
  const came = inferencesIn(arrived(notebook, 'from', 'to')).length
  const alone = inferencesIn(background(notebook)).length
  if (came > 0 && !isToldApart(came, alone))
    session.untestable(
      `${came} inferences came while ${what}, and ${alone} in ${quietTime(notebook)} in which nothing was asked: nobody can tell them apart`,
    )
}

/** The zero of a window. Where it is none, what came could be told from what comes by itself. */
function zero(evidence: Evidence, what: string): Finding[] {
  const alone = inferencesIn(background(evidence))
  const spent = inferencesIn(arrived(evidence, 'from', 'to'))
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
    finding(
      evidence.marks.to !== undefined && spent.length === 0,
      `${what}: ${spent.length} inferences at the witness, ${reads.length} requests; ${alone.length} inferences in ${quietTime(evidence)} in which nothing was asked`,
      names([...spent, ...alone]),
    ),
  ]
}

export const readsNeverSpend = {
  id: 'PURE-01',
  needs: ['read_paths'],
  timeout: 180_000,
  async probe(session) {
    await measuredWindow(session, () => readEverything(session))
    await tellApart(session, 'reading')
  },
  judge: ({ evidence }) => zero(evidence, 'reading'),
} satisfies Check

export const startAndIdle = {
  id: 'PURE-02',
  timeout: 180_000,
  async probe(session) {
    const { has, start } = session.target
    // A start can only be watched where the suite may start an instance of its own.
    if (!('url' in start)) {
      session.mark('start_from')
      await session.another(null)
      await session.drain()
      session.mark('start_to')
    }
    if (!(await session.plant('before'))) session.untestable('no plant reached the witness')
    await session.drain()
    session.mark('idle_from')
    await session.wait(Math.max(QUIET, 2 * has.probe_interval_ms))
    session.mark('idle_to')
    if (!(await session.plant('after')))
      session.untestable('no plant reached the witness after the idle time')
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
  judge({ evidence }) {
    const requests = arrived(evidence, 'from', 'to')
    const alone = background(evidence)
    return [
      finding(
        evidence.marks.to !== undefined && !isToldApart(requests.length, alone.length),
        `${requests.length} requests of any kind at the witness while reading, ${alone.length} in ${quietTime(evidence)} in which nothing was asked`,
        names(requests),
      ),
    ]
  },
} satisfies Check

/** So often a route is resolved in a row, without a call in between. */
const IN_A_ROW = 36
/** The longest turn that is looked for; a table of two targets with weights may have more steps than targets. */
const LONGEST_TURN = 5

/**
 * Whether answers come in turns, each a step further than the one before. Answers that are drawn by chance look like
 * that in fewer than one of a million rows of this length, whatever their weights; always the same one is no turn.
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
  async probe(session) {
    const { resolve } = session.target.has
    const pathOf = (id: string) => resolve!.path.replace('{model}', encodeURIComponent(id))
    await measuredWindow(session, async () => {
      for (const { id } of session.target.models.logical)
        for (let times = 0; times < 3; times++) await session.ask('read', pathOf(id))
    })
    await tellApart(session, 'resolving')
    for (const { id } of session.target.models.logical)
      for (let times = 0; times < IN_A_ROW; times++) await session.ask(`resolve ${id}`, pathOf(id))
  },
  judge({ evidence, target }) {
    const findings = zero(evidence, 'resolving')
    for (const { id } of target.models.logical) {
      const answers = evidence.exchanges.filter(({ label }) => label === `resolve ${id}`)
      const { provider, model } = target.has.resolve!
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
  async probe(session) {
    const { keys } = session.running
    for (const path of session.target.has.read_paths) {
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
  async probe(session) {
    const { has } = session.target
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
      if (has.gateway_keys) {
        await refuse('no key', call(session.model), null)
        await refuse('wrong key', call(session.model), 'wrong-key-of-the-suite')
      }
    })
  },
  judge({ evidence }) {
    const asked = evidence.exchanges.filter(({ nonce }) => nonce === null)
    const strange = inferencesIn(arrived(evidence, 'from', 'to'))
    const alone = inferencesIn(background(evidence))
    const others = finding(
      evidence.marks.to !== undefined && !isToldApart(strange.length, alone.length),
      `${strange.length} further inferences that nobody asked for, ${alone.length} in ${quietTime(evidence)} in which nothing was asked`,
      names(strange),
    )
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
    return [...each, others]
  },
} satisfies Check
