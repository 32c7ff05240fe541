// LOG: every call leaves a record, and the record is true. One family, one file.
import { type Check, type Finding, finding, type Judging } from '../check.ts'
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
import { at, jsonOf, readChat } from '../reading.ts'
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
  readAll(session, label, session.target.observability.log!.path)

const idsIn = (target: Target, exchange: Exchange): string[] =>
  (itemsOf(target, exchange) ?? []).map((item) => String(at(item, target.observability.log!.fields.id)))

export const oneRecordPerCall = {
  id: 'LOG-01',
  needs: ['log'],
  hostile: true,
  timeout: 60_000,
  async exercise(session) {
    await session.wait(session.target.observability.log!.lag_ms)
    await readLog(session, 'before')
    await session.chat('call')
    await session.chat('call', { stream: true })
    await session.chat('call', { script: [{ scenario: '400' }] })
    await session.chat('call', { script: [failure(500)] })
    await session.wait(session.target.capabilities.cooldown_ms)
    await leave(session, 'call')
    await session.wait(session.target.observability.log!.lag_ms)
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

/**
 * What a record says about a call, held against what is known from outside: what was asked for, where it went, and
 * what the provider reported. What nobody outside can know, the price of a model and the name of a strategy, must only
 * be there and make sense. A field that the target file does not map is none, but for this interface, which has all.
 */
function compare(
  record: unknown,
  exchange: Exchange,
  entry: ReturnType<typeof servedBy>,
  { target, waybill }: Pick<Judging, 'target' | 'waybill'>,
): Finding[] {
  const { fields } = target.observability.log!
  const asked = jsonOf(exchange.request.body ?? '') as { model: string }
  const direct = target.models.direct.some(({ id }) => id === asked.model)
  const table = target.models.logical.find(({ id }) => id === asked.model)
  const header = target.capabilities.session?.header.toLowerCase()
  const [, session] =
    Object.entries(exchange.request.headers).find(([name]) => name.toLowerCase() === header) ?? []
  const usage = readChat(entry?.answer.body ?? '').usage.at(-1)
  const said = (name: keyof typeof fields) => at(record, fields[name])
  const findings: Finding[] = []
  const hold = (name: keyof typeof fields, ok: (value: unknown) => boolean, expected: string) => {
    if (fields[name] === undefined && !waybill) return
    const value = said(name)
    findings.push(
      finding(
        ok(value),
        `${exchange.label}: ${name} on record is ${JSON.stringify(value) ?? 'nothing'}, expected ${expected}`,
        refs(exchange, entry),
      ),
    )
  }
  const isAmount = (value: unknown) => typeof value === 'number' && value >= 0
  const isName = (value: unknown) => typeof value === 'string' && value !== ''

  hold('requested_model', (value) => value === asked.model, JSON.stringify(asked.model))
  hold(
    'provider',
    (value) => entry !== null && namesProvider(target, entry.provider, value),
    JSON.stringify(entry?.provider),
  )
  hold(
    'model',
    (value) => entry !== null && namesModel(target, entry.provider, entry.model, value),
    JSON.stringify(entry?.model),
  )
  hold('latency', isAmount, 'a duration')
  // Where there is nothing to choose from, there is no strategy, unless an interface has a word for that; this one does.
  if (direct && waybill) hold('strategy', (value) => value === 'direct', '"direct"')
  else if (!direct && (waybill || (table && table.targets.length > 1))) hold('strategy', isName, 'a name')
  if (session !== undefined) hold('session', (value) => value === session, JSON.stringify(session))
  else if (waybill) hold('session', (value) => value === null, 'null, because none was sent')
  // A provider that was not asked for usage reports none; what a gateway counts then is its own.
  for (const [name, reported] of [
    ['input_tokens', at(usage, '/prompt_tokens')],
    ['output_tokens', at(usage, '/completion_tokens')],
  ] as const)
    if (typeof reported === 'number') hold(name, (value) => value === reported, String(reported))
  // Elsewhere a model may be free or without a known price. The models of this target have one.
  hold(
    'cost',
    (value) => (waybill ? isAmount(value) && value !== 0 : value == null || isAmount(value)),
    waybill ? 'an amount above 0' : 'an amount, or nothing',
  )
  return findings
}

export const recordNamesTheRoad = {
  id: 'LOG-02',
  needs: ['log', 'request_id'],
  timeout: 60_000,
  async exercise(session) {
    const { logical, direct } = session.target.models
    const { session: declared } = session.target.capabilities
    for (const { id } of [...logical, ...direct])
      for (const stream of [false, true]) {
        // Streamed calls belong to a session, the others to none.
        const headers = declared && stream ? { [declared.header]: `session-${session.nonce()}` } : {}
        const label = `${id}${stream ? ', streamed' : ''}`
        const exchange = await session.chat(label, { model: id, stream, headers })
        await session.record(`record of #${exchange.n}`, exchange)
      }
  },
  judge: ({ evidence, target, waybill }) =>
    evidence.exchanges
      .filter(({ nonce }) => nonce !== null)
      .flatMap((exchange) => {
        const [reading] = labelled(evidence, `record of #${exchange.n}`)
        const record = recordIn(target, reading, requestIdOf(target, exchange) ?? '')
        if (record === undefined)
          return [finding(false, `${exchange.label}: there is no record`, refs(exchange, reading))]
        return [
          finding(true, `${exchange.label}: there is a record`, refs(exchange, reading)),
          ...compare(record, exchange, servedBy(evidence, exchange), { target, waybill }),
        ]
      }),
} satisfies Check

export const finalInTime = {
  id: 'LOG-04',
  needs: ['log', 'request_id', 'state'],
  async exercise(session) {
    for (const stream of [false, true]) {
      const exchange = await session.chat('call', { stream })
      await session.record(`record of #${exchange.n}`, exchange, session.target.observability.log!.lag_ms)
    }
  },
  judge: ({ evidence, target }) =>
    labelled(evidence, 'call').map((exchange) => {
      const [reading] = labelled(evidence, `record of #${exchange.n}`)
      const { fields, completed, lag_ms } = target.observability.log!
      const state = String(at(recordIn(target, reading, requestIdOf(target, exchange) ?? ''), fields.state))
      const late = reading ? Math.round(reading.at - exchange.end_at) : null
      const what = `state ${JSON.stringify(state)} was read ${late ?? '?'} ms after the end, declared lag ${lag_ms} ms`
      return finding(completed.includes(state), what, refs(exchange, reading))
    }),
} satisfies Check

export const leftIsNotCompleted = {
  id: 'LOG-06',
  needs: ['log', 'request_id', 'state'],
  hostile: true,
  async exercise(session) {
    const exchange = await leave(session, 'left')
    await session.wait(session.target.observability.log!.lag_ms)
    await session.record(`record of #${exchange.n}`, exchange)
  },
  judge: ({ evidence, target }) =>
    labelled(evidence, 'left').map((exchange) => {
      const [reading] = labelled(evidence, `record of #${exchange.n}`)
      const record = recordIn(target, reading, requestIdOf(target, exchange) ?? '')
      const state = at(record, target.observability.log!.fields.state)
      const ok =
        exchange.end === 'left' &&
        record !== undefined &&
        !target.observability.log!.completed.includes(String(state))
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
  hostile: true,
  timeout: 90_000,
  async exercise(session) {
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
      await session.wait(session.target.capabilities.cooldown_ms)
    }
    calls.push(await leave(session, 'call'))
    await session.drain()
    for (const exchange of calls) await session.record(`record of #${exchange.n}`, exchange)
  },
  judge: ({ evidence, target }) =>
    labelled(evidence, 'call').map((exchange) => {
      const [reading] = labelled(evidence, `record of #${exchange.n}`)
      const { attempts, unsure_outcomes } = target.observability.log!
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
  async exercise(session) {
    const words = [`asked${session.nonce()}`, `answered${session.nonce()}`] as const
    session.note('words', words)
    for (const stream of [false, true]) {
      const script = stream ? [{ events: [delta(words[1]), DONE] }] : [answer(words[1])]
      await session.chat('call', { stream, prompt: `Which way, ${words[0]}?`, script })
    }
    await session.wait(session.target.observability.log!.lag_ms)
    await readLog(session, 'log')
    for (const path of session.target.capabilities.read_paths)
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
