// LOG: every call leaves a record, and the record is true.
import { type Check, type Finding, finding } from '../check.ts'
import type { Exchange } from '../evidence.ts'
import {
  itemsOf,
  labelled,
  namesModel,
  namesProvider,
  recordIn,
  ref,
  refs,
  requestIdOf,
  requestsOf,
  servedBy,
  where,
} from '../lookup.ts'
import { at } from '../reading.ts'
import { readAll } from '../request-log.ts'
import { answer, DONE, delta, failure } from '../scripted.ts'
import type { ChatOptions, Session } from '../session.ts'
import type { Target } from '../target.ts'

/** A stream that the client leaves after its first event. */
async function leave(session: Session, label: string): Promise<Exchange> {
  const script = [{ events: [delta('one'), { gate: `never-${session.nonce()}` }] }]
  const call = await session.openChat(label, { stream: true, script })
  await call.until((body) => body.includes('one'), 5_000)
  call.leave()
  return call.done
}

const readLog = (session: Session, label: string): Promise<Exchange> =>
  readAll(session, label, session.target.tells.log!.path)

const idsIn = (target: Target, exchange: Exchange): string[] =>
  (itemsOf(target, exchange) ?? []).map((item) => String(at(item, target.tells.log!.fields.id)))

export const oneRecordPerCall = {
  id: 'LOG-01',
  needs: ['log'],
  timeout: 60_000,
  async probe(session) {
    await session.wait(session.target.tells.log!.lag_ms)
    await readLog(session, 'before')
    await session.chat('call')
    await session.chat('call', { stream: true })
    await session.chat('call', { script: [{ scenario: '400' }] })
    await session.chat('call', { script: [failure(500)] })
    await session.wait(session.target.has.cooldown_ms)
    await leave(session, 'call')
    await session.wait(session.target.tells.log!.lag_ms)
    await readLog(session, 'after')
  },
  judge({ evidence, target }) {
    const [before, after] = [labelled(evidence, 'before')[0]!, labelled(evidence, 'after')[0]!]
    const calls = labelled(evidence, 'call')
    if (!itemsOf(target, after))
      return [finding(false, `the log answered ${after.status} without a list`, [ref(after)])]
    const known = new Set(idsIn(target, before))
    const added = idsIn(target, after).filter((id) => !known.has(id))
    return [
      finding(
        added.length === calls.length,
        `${calls.length} calls (answered, streamed, refused by the provider, failed, left) added ${added.length} records`,
        [...calls.map(ref), ref(after)],
      ),
      finding(new Set(added).size === added.length, 'no record stands in the list twice', [ref(after)]),
    ]
  },
} satisfies Check

/** What a record says about a call, held against the ledger. */
function compare(
  record: unknown,
  exchange: Exchange,
  entry: ReturnType<typeof servedBy>,
  target: Target,
): Finding[] {
  const { fields } = target.tells.log!
  const said = (name: keyof typeof fields) => at(record, fields[name])
  const asked = (JSON.parse(exchange.request.body ?? '{}') as { model?: string }).model
  const findings: Finding[] = []
  const add = (name: keyof typeof fields, ok: boolean, expected: unknown) => {
    if (fields[name] === undefined) return
    const told = JSON.stringify(said(name)) ?? 'nothing'
    findings.push(
      finding(
        ok,
        `${exchange.label}: ${name} on record is ${told}, expected ${JSON.stringify(expected)}`,
        refs(exchange, entry),
      ),
    )
  }
  add('requested_model', said('requested_model') === asked, asked)
  add('provider', entry !== null && namesProvider(target, entry.provider, said('provider')), entry?.provider)
  add('model', entry !== null && namesModel(target, entry.provider, entry.model, said('model')), entry?.model)
  add('latency', typeof said('latency') === 'number' && (said('latency') as number) >= 0, 'a duration')
  return findings
}

export const recordNamesTheRoad = {
  id: 'LOG-02',
  needs: ['log', 'request_id'],
  timeout: 60_000,
  async probe(session) {
    const { logical, direct } = session.target.models
    for (const { id } of [...logical, ...direct])
      for (const stream of [false, true]) {
        const exchange = await session.chat(`${id}${stream ? ', streamed' : ''}`, { model: id, stream })
        await session.record(`record of #${exchange.n}`, exchange)
      }
  },
  judge: ({ evidence, target }) =>
    evidence.exchanges
      .filter(({ nonce }) => nonce !== null)
      .flatMap((exchange) => {
        const [reading] = labelled(evidence, `record of #${exchange.n}`)
        const record = recordIn(target, reading, requestIdOf(target, exchange) ?? '')
        if (record === undefined)
          return [finding(false, `${exchange.label}: there is no record`, refs(exchange, reading))]
        return [
          finding(true, `${exchange.label}: there is a record`, refs(exchange, reading)),
          ...compare(record, exchange, servedBy(evidence, exchange), target),
        ]
      }),
} satisfies Check

export const finalInTime = {
  id: 'LOG-04',
  needs: ['log', 'request_id', 'state'],
  async probe(session) {
    for (const stream of [false, true]) {
      const exchange = await session.chat('call', { stream })
      await session.record(`record of #${exchange.n}`, exchange)
    }
  },
  judge: ({ evidence, target }) =>
    labelled(evidence, 'call').map((exchange) => {
      const [reading] = labelled(evidence, `record of #${exchange.n}`)
      const { fields, completed, lag_ms } = target.tells.log!
      const state = String(at(recordIn(target, reading, requestIdOf(target, exchange) ?? ''), fields.state))
      const late = reading ? Math.round(reading.at - exchange.end_at) : null
      const what = `state ${JSON.stringify(state)} was read ${late ?? '?'} ms after the end, declared lag ${lag_ms} ms`
      return finding(completed.includes(state), what, refs(exchange, reading))
    }),
} satisfies Check

export const leftIsNotCompleted = {
  id: 'LOG-06',
  needs: ['log', 'request_id', 'state'],
  async probe(session) {
    const exchange = await leave(session, 'left')
    await session.wait(session.target.tells.log!.lag_ms)
    await session.record(`record of #${exchange.n}`, exchange)
  },
  judge: ({ evidence, target }) =>
    labelled(evidence, 'left').map((exchange) => {
      const [reading] = labelled(evidence, `record of #${exchange.n}`)
      const record = recordIn(target, reading, requestIdOf(target, exchange) ?? '')
      const state = at(record, target.tells.log!.fields.state)
      const ok =
        exchange.end === 'left' &&
        record !== undefined &&
        !target.tells.log!.completed.includes(String(state))
      return finding(
        ok,
        `a call that the client left (${exchange.end}) is on record as ${JSON.stringify(state) ?? 'nothing'}`,
        refs(exchange, reading),
      )
    }),
} satisfies Check

export const nothingUnrecorded = {
  id: 'LOG-07',
  needs: ['log', 'request_id', 'attempts'],
  timeout: 90_000,
  async probe(session) {
    const route = session.target.models.logical.find(({ targets }) => targets.length > 1)
    const model = route?.id ?? session.model
    const calls = await Promise.all(
      [1, 2, 3, 4].map((n) => session.chat('call', { model, stream: n % 2 === 0 })),
    )
    const failing: ChatOptions[] = [
      { script: [failure(500), { scenario: 'plain' }] },
      { script: [failure(500)] },
      { stream: true, script: [{ events: [delta('one'), { end: 'cut' }] }] },
      { script: [{ scenario: '400' }] },
    ]
    for (const options of failing) {
      calls.push(await session.chat('call', { model, ...options }))
      await session.wait(session.target.has.cooldown_ms)
    }
    calls.push(await leave(session, 'call'))
    await session.drain()
    for (const exchange of calls) await session.record(`record of #${exchange.n}`, exchange)
  },
  judge: ({ evidence, target }) =>
    labelled(evidence, 'call').map((exchange) => {
      const [reading] = labelled(evidence, `record of #${exchange.n}`)
      const { attempts, unsure_outcomes } = target.tells.log!
      const record = recordIn(target, reading, requestIdOf(target, exchange) ?? '')
      const list = at(record, attempts!.list)
      const entries = requestsOf(evidence, exchange)
      if (!Array.isArray(list))
        return finding(
          false,
          `no attempts are on record for ${entries.length} inferences`,
          refs(exchange, reading, ...entries),
        )
      const left = [...list]
      const unrecorded = entries.filter((entry) => {
        const index = left.findIndex(
          (each) =>
            namesProvider(target, entry.provider, at(each, attempts!.provider)) &&
            namesModel(target, entry.provider, entry.model, at(each, attempts!.model)),
        )
        if (index >= 0) left.splice(index, 1)
        return index < 0
      })
      const surplus = left.filter((each) => !unsure_outcomes.includes(String(at(each, attempts!.outcome))))
      return finding(
        entries.length > 0 && unrecorded.length === 0 && surplus.length === 0,
        `${entries.length} inferences, ${list.length} attempts on record; not on record: ${unrecorded.map(where).join(', ') || 'none'}; on record only: ${surplus.length}`,
        refs(exchange, reading, ...entries),
      )
    }),
} satisfies Check

export const noContentInLists = {
  id: 'LOG-12',
  needs: ['log'],
  async probe(session) {
    const words = [`asked${session.nonce()}`, `answered${session.nonce()}`] as const
    session.note('words', words)
    for (const stream of [false, true]) {
      const script = stream ? [{ events: [delta(words[1]), DONE] }] : [answer(words[1])]
      await session.chat('call', { stream, prompt: `Which way, ${words[0]}?`, script })
    }
    await session.wait(session.target.tells.log!.lag_ms)
    await readLog(session, 'log')
    for (const path of session.target.has.read_paths)
      await session.ask('read', path, { key: session.running.keys.reader })
  },
  judge({ evidence, target }) {
    const words = evidence.facts.words as string[]
    const said = labelled(evidence, 'call').every(({ body }) => body.includes(words[1]!))
    const lists = [...labelled(evidence, 'log'), ...labelled(evidence, 'read')]
    const [log] = labelled(evidence, 'log')
    return [
      finding(
        said && (itemsOf(target, log!)?.length ?? 0) > 0,
        'the words were asked and answered, and the log has records',
        refs(log),
      ),
      ...lists.map((exchange) => {
        const found = words.filter((word) => exchange.body.includes(word))
        return finding(
          found.length === 0,
          `${exchange.request.path} holds ${found.length === 0 ? 'neither prompt nor answer' : 'content'}`,
          [ref(exchange)],
        )
      }),
    ]
  },
} satisfies Check
