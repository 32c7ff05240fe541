// PURE: reading never spends. Every zero here is bound to life: it lies between two plants that the witness saw.
import { nonceIn, writeNonce } from '../../mocks/ledger.ts'
import { type Check, type Finding, finding } from '../check.ts'
import type { Evidence } from '../evidence.ts'
import { ref } from '../lookup.ts'
import { at, jsonOf } from '../reading.ts'
import type { Session } from '../session.ts'

/** How long a window without reads lasts, ms. */
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

/** A window between two plants in which nothing happens: what comes then, comes by itself. */
async function quietWindow(session: Session): Promise<void> {
  await plant(session, 'before the quiet')
  await session.drain()
  session.mark('quiet_from')
  await session.wait(QUIET)
  session.mark('quiet_to')
}

/** A window between two plants in which nothing but `during` happens. */
async function zeroWindow(session: Session, during: () => Promise<void>): Promise<void> {
  await plant(session, 'before')
  await session.drain()
  session.mark('from')
  await during()
  await session.drain()
  session.mark('to')
  await plant(session, 'after')
}

/** What the witness saw between two marks, plants excluded. */
function arrived({ ledger, marks, exchanges }: Evidence, from: string, to: string) {
  const plants = new Set(exchanges.map(({ nonce }) => nonce).filter((nonce) => nonce !== null))
  return ledger.filter(
    (entry) =>
      entry.at >= marks[from]! &&
      entry.at <= marks[to]! &&
      !(entry.nonce !== null && plants.has(entry.nonce)),
  )
}

const names = (entries: Evidence['ledger']): string[] => entries.map(({ n }) => `@${n}`)

/** The zero of a window: background traffic in the equal window before makes it say nothing. */
function zero(evidence: Evidence, what: string): Finding[] {
  const background = arrived(evidence, 'quiet_from', 'quiet_to').filter(({ kind }) => kind === 'inference')
  const spent = arrived(evidence, 'from', 'to').filter(({ kind }) => kind === 'inference')
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
      background.length === 0,
      `${background.length} inferences came in a window without any request`,
      names(background),
    ),
    finding(
      spent.length === 0,
      `${what}: ${spent.length} inferences at the witness, ${reads.length} requests`,
      names(spent),
    ),
  ]
}

export const readsNeverSpend = {
  id: 'PURE-01',
  needs: ['read_paths'],
  timeout: 120_000,
  async probe(session) {
    await quietWindow(session)
    await zeroWindow(session, () => readEverything(session))
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
    const inferences = (from: string, to: string) =>
      arrived(evidence, from, to).filter(({ kind }) => kind === 'inference')
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
    const background = arrived(evidence, 'quiet_from', 'quiet_to')
    return [
      finding(
        requests.length <= background.length,
        `${requests.length} requests of any kind at the witness while reading, ${background.length} while nothing was asked`,
        names(requests),
      ),
    ]
  },
} satisfies Check

export const resolvingMovesNothing = {
  id: 'PURE-04',
  needs: ['resolve', 'logical'],
  async probe(session) {
    const { resolve } = session.target.has
    await quietWindow(session)
    await zeroWindow(session, async () => {
      for (const { id } of session.target.models.logical)
        for (let times = 0; times < 3; times++)
          await session.ask('read', resolve!.path.replace('{model}', encodeURIComponent(id)))
    })
    // Moves nothing: asked many times, the answer stays as it was.
    for (const { id } of session.target.models.logical) {
      const path = resolve!.path.replace('{model}', encodeURIComponent(id))
      for (let times = 0; times < 5; times++) await session.ask(`resolve ${id}`, path)
    }
  },
  judge({ evidence, target }) {
    const findings = zero(evidence, 'resolving')
    for (const { id } of target.models.logical) {
      const answers = evidence.exchanges.filter(({ label }) => label === `resolve ${id}`)
      const { provider, model } = target.has.resolve!
      const told = new Set(
        answers.map(({ body }) => JSON.stringify([at(jsonOf(body), provider), at(jsonOf(body), model)])),
      )
      const named = typeof at(jsonOf(answers[0]?.body ?? ''), model) === 'string'
      findings.push(
        finding(
          named && told.size === 1,
          `"${id}" resolved ${answers.length} times in a row to ${[...told].join(' and ')}`,
          answers.map(ref),
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
  timeout: 60_000,
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
    await zeroWindow(session, async () => {
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
    const nonces = asked.map(({ request }) => nonceIn(request.body ?? ''))
    const inferences = (from: string, to: string) =>
      arrived(evidence, from, to).filter(({ kind, nonce }) => kind === 'inference' && !nonces.includes(nonce))
    const background = inferences('quiet_from', 'quiet_to')
    const strange = inferences('from', 'to')
    const others = finding(
      strange.length <= background.length,
      `${strange.length} further inferences that nobody asked for, ${background.length} while nothing was asked`,
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
