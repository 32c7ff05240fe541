// Checks of the record of a call.

import { delta, END, scriptedFailure } from '../../dialects/dialect.ts'
import {
  amountIn,
  askedModel,
  namesModel,
  namesProvider,
  readSent,
  recordIn,
  refs,
  requestIdOf,
  requestsOf,
  type servedBy,
  where,
} from '../../dialects/lookup.ts'
import { type Exchange, listed, type PlainStep, recordExchange, step } from '../../evidence/evidence.ts'
import { at, jsonOf, type AnyJson as Row } from '../../evidence/reading.ts'
import { doubt, each, type Finding, family, finding, type Judging } from '../check.ts'
import type { ChatOptions } from '../context.ts'
import { breakStream, hasError, LOG, leaveStream, readAll, rowsIn } from './parts.ts'

const check = family()

/**
 * Compares a record with the facts known outside: the request, its target, and the usage that the provider
 * reported. Other values, such as a price or the name of a strategy, must only be present and plausible.
 * Fields that the target file does not map are skipped, except for Waybill, which has all fields.
 */
function compare(
  record: unknown,
  exchange: Exchange,
  entry: ReturnType<typeof servedBy>,
  { target, waybill }: Pick<Judging, 'target' | 'waybill'>,
): Finding[] {
  const { fields } = target.observability.log!
  const asked = askedModel(exchange)
  const direct = target.models.direct.some(({ id }) => id === asked)
  const table = target.models.logical.find(({ id }) => id === asked)
  const header = target.capabilities.session?.header.toLowerCase()
  const [, session] =
    Object.entries(exchange.request.headers).find(([name]) => name.toLowerCase() === header) ?? []
  const usage = readSent(entry).usage.at(-1)
  const said = (name: keyof typeof fields) => at(record, fields[name])
  const findings: Finding[] = []
  const hold = (name: keyof typeof fields, ok: (value: unknown) => boolean, expected: string) => {
    if (fields[name] === undefined && !waybill) return
    const value = said(name)
    findings.push(
      finding(
        name.replaceAll('_', '-'),
        ok(value),
        `the ${name} on record of a call to ${asked}`,
        { expected, actual: JSON.stringify(value) ?? 'nothing' },
        refs(exchange, entry),
      ),
    )
  }
  // Waybill's interface uses JSON numbers.
  const isAmount = (value: unknown) => (waybill ? typeof value === 'number' : true) && amountIn(value) >= 0
  const isName = (value: unknown) => typeof value === 'string' && value !== ''

  hold('requested_model', (value) => value === asked, JSON.stringify(asked))
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
  // A direct model has only one target. Waybill still records a strategy for it, but other gateways need not.
  if (direct && waybill) hold('strategy', (value) => value === 'direct', '"direct"')
  else if (!direct && (waybill || (table && table.targets.length > 1))) hold('strategy', isName, 'a name')
  if (session !== undefined) hold('session', (value) => value === session, JSON.stringify(session))
  else if (waybill) hold('session', (value) => value === null, 'null, because none was sent')
  // A provider that was not asked for usage does not report it, and the gateway may count by itself.
  for (const [name, reported] of [
    ['input_tokens', at(usage, '/prompt_tokens')],
    ['output_tokens', at(usage, '/completion_tokens')],
  ] as const)
    if (typeof reported === 'number')
      hold(name, (value) => (waybill ? value : amountIn(value)) === reported, String(reported))
  // Other gateways may have free models or models without a known price. This target's models have a price.
  hold(
    'cost',
    (value) => (waybill ? isAmount(value) && value !== 0 : value == null || isAmount(value)),
    waybill ? 'an amount above 0' : 'an amount, or nothing',
  )
  return findings
}

const routed = step<{ model: string; stream: boolean }>('call')

check('LOG-02', {
  needs: ['log', 'record'],
  timeout: 60_000,
  async exercise(session) {
    const { logical, direct } = session.target.models
    const { session: declared } = session.target.capabilities
    for (const { id } of [...logical, ...direct])
      for (const stream of [false, true]) {
        // Only streamed calls belong to a session.
        const headers = declared && stream ? { [declared.header]: `session-${session.nonce()}` } : {}
        const exchange = await session.chat(routed.with({ model: id, stream }), {
          model: id,
          stream,
          headers,
        })
        await session.record(exchange)
      }
  },
  judge: each(routed, ({ exchange, entry, quoted, evidence, target, waybill }) => {
    const reading = recordExchange(evidence, exchange)
    const record = recordIn(target, reading, requestIdOf(target, exchange) ?? '')
    const found = finding(
      'has-a-record',
      record !== undefined,
      `the record of ${quoted}`,
      { expected: 'one', actual: record === undefined ? 'none' : 'one' },
      refs(exchange, reading),
    )
    return record === undefined ? [found] : [found, ...compare(record, exchange, entry, { target, waybill })]
  }),
})

const early = {
  call: step('call'),
  whileSilent: step('while silent'),
  whileStreaming: step('while streaming'),
}

check('LOG-03', {
  async exercise(session) {
    const [silent, gate] = [session.nonce(), session.nonce()]
    const tag = session.nonce()
    const script = [{ events: [{ gate: silent }, delta('one'), { gate }, END] }]
    const call = await session.openChat(early.call, {
      stream: true,
      script,
      headers: { 'x-gateway-session-id': tag },
    })
    await session.mock.seen(call.nonce, 5_000)
    await readAll(session, early.whileSilent, `${LOG}?session_id=${tag}`)
    await session.mock.release(silent)
    await call.says('one')
    for (let tries = 0; tries < 60; tries++) {
      const page = await readAll(session, early.whileStreaming, `${LOG}?session_id=${tag}`)
      if (rowsIn(page)[0]?.state === 'streaming') break
      await session.wait(50)
    }
    await session.mock.release(gate)
    await session.record(await call.done)
  },
  judge({ evidence }) {
    const read = (step: PlainStep, state: string) => {
      const exchange = step.in(evidence).at(-1)
      const rows = rowsIn(exchange)
      const named = rows[0]?.resolved_provider && rows[0]?.resolved_model
      return finding(
        'open-call-is-on-record',
        rows.length === 1 && rows[0]!.state === state && Boolean(named),
        `what is on record ${step.step}`,
        {
          expected: `one record, ${state}, that names provider and model`,
          actual: `${rows.length}${rows[0] ? `, ${rows[0].state}, ${where({ provider: rows[0].resolved_provider, model: rows[0].resolved_model })}` : ''}`,
        },
        refs(exchange),
      )
    }
    const [call] = early.call.in(evidence)
    const after = recordExchange(evidence, call!)
    const state = at(jsonOf(after?.body ?? ''), '/state')
    return [
      read(early.whileSilent, 'routed'),
      read(early.whileStreaming, 'streaming'),
      {
        'completed-afterwards': [
          state === 'completed',
          'the state on record afterwards',
          'completed',
          String(state),
          refs(after),
        ],
      },
    ]
  },
})

const call = step('call')

check('LOG-04', {
  needs: ['log', 'record', 'state'],
  async exercise(session) {
    for (const stream of [false, true]) {
      const exchange = await session.chat(call, { stream })
      await session.record(exchange, session.target.observability.log!.lag_ms)
    }
  },
  judge: each(call, ({ exchange, evidence, target }) => {
    const reading = recordExchange(evidence, exchange)
    const { fields, completed, lag_ms } = target.observability.log!
    const state = String(at(recordIn(target, reading, requestIdOf(target, exchange) ?? ''), fields.state))
    const late = reading ? Math.round(reading.at - exchange.end_at) : null
    return {
      'final-in-time': [
        completed.includes(state),
        `the state on record, declared lag ${lag_ms} ms`,
        completed.join(' or '),
        `${JSON.stringify(state)}, ${late ?? '?'} ms after the end`,
        refs(exchange, reading),
      ],
    }
  }),
})

const failedCall = step('call')

check('LOG-05', {
  needs: ['fallback'],
  async exercise(session) {
    const route = session.target.models.logical.find(({ targets }) => targets.length > 1)!
    const exchange = await session.chat(failedCall, {
      model: route.id,
      script: [scriptedFailure(503), scriptedFailure(500)],
    })
    await session.record(exchange)
    await session.wait(session.target.capabilities.cooldown_ms)
  },
  judge({ evidence }) {
    const call = failedCall.in(evidence)[0]!
    const reading = recordExchange(evidence, call)
    const record = jsonOf(reading?.body ?? '') as Row | undefined
    const attempts = (record?.attempt_log ?? []) as Row[]
    const entries = requestsOf(evidence, call)
    const said = attempts.map((each) => `${each.provider}/${each.model} ${each.status}`)
    const seen = entries.map((entry) => `${where(entry)} ${entry.answer.status}`)
    const ends = attempts.map(({ outcome, error_code }) => `${outcome}, ${error_code ?? 'no error_code'}`)
    const last = entries.at(-1)
    return {
      'all-attempts-with-reasons': [
        said.join() === seen.join() && attempts.every((each) => each.outcome === 'failed' && each.error_code),
        'attempts on record, each failed and with a reason',
        listed(seen.map((each) => `${each} (failed, an error_code)`)),
        listed(said.map((each, at) => `${each} (${ends[at]})`)),
        refs(call, reading, ...entries),
      ],
      'names-the-last-target': [
        record?.state === 'failed' &&
          record.resolved_provider === last?.provider &&
          record.resolved_model === last?.model,
        'the record',
        `failed, ${last ? where(last) : 'and a target'}`,
        `${record?.state}, ${record?.resolved_provider}/${record?.resolved_model}`,
        refs(reading),
      ],
    }
  },
})

const left = step('left')

check('LOG-06', {
  needs: ['log', 'record', 'state'],
  hostile: true,
  async exercise(session) {
    const exchange = await leaveStream(session, left)
    await session.wait(session.target.observability.log!.lag_ms)
    await session.record(exchange)
  },
  judge: each(left, ({ exchange, evidence, target }) => {
    if (exchange.status === null)
      return { 'left-is-not-completed': { doubt: 'The client left before an answer began.' } }
    const reading = recordExchange(evidence, exchange)
    const record = recordIn(target, reading, requestIdOf(target, exchange) ?? '')
    const { fields, completed } = target.observability.log!
    const state = at(record, fields.state)
    const isOpen = hasError(target, record) || !completed.includes(String(state))
    const ok = exchange.end === 'left' && record !== undefined && isOpen
    return {
      'left-is-not-completed': [
        ok,
        `the state on record of a call that the client left (${exchange.end})`,
        'one, and not a completed one',
        JSON.stringify(state) ?? 'nothing',
        refs(exchange, reading),
      ],
    }
  }),
})

check('LOG-07', {
  needs: ['log', 'record', 'attempts'],
  hostile: true,
  timeout: 90_000,
  async exercise(session) {
    const route = session.target.models.logical.find(({ targets }) => targets.length > 1)
    const model = route?.id ?? session.model
    const calls = await Promise.all(
      [1, 2, 3, 4].map((n) => session.chat(call, { model, stream: n % 2 === 0 })),
    )
    const failing: ChatOptions[] = [
      { script: [scriptedFailure(500), { scenario: 'plain' }] },
      { script: [scriptedFailure(500)] },
      { script: [{ scenario: '400' }] },
    ]
    for (const options of failing) {
      calls.push(await session.chat(call, { model, ...options }))
      await session.wait(session.target.capabilities.cooldown_ms)
    }
    const broken = await breakStream(session, call, { model, ending: { end: 'cut' } })
    await session.record(broken.exchange) // before the next call, because a record may be found only as the one new one
    await session.wait(session.target.capabilities.cooldown_ms)
    calls.push(await leaveStream(session, call))
    await session.drain()
    for (const exchange of calls) await session.record(exchange)
  },
  judge: each(call, ({ exchange, evidence, target }) => {
    const reading = recordExchange(evidence, exchange)
    const { attempts, unsure_outcomes } = target.observability.log!
    const id = requestIdOf(target, exchange)
    if (id === null && exchange.status === null)
      return doubt(
        'has-attempts',
        'The connection of a call ended before anything of its answer came, so its record cannot be looked up.',
        refs(exchange),
      )
    const record = recordIn(target, reading, id ?? '')
    const list = at(record, attempts!.list)
    const entries = requestsOf(evidence, exchange)
    if (!Array.isArray(list))
      return {
        'has-attempts': [
          false,
          'attempts on record',
          `a list, for ${entries.length} inferences`,
          'none',
          refs(exchange, reading, ...entries),
        ],
      }
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
    return {
      'attempts-match-inferences': [
        entries.length > 0 && unrecorded.length === 0 && surplus.length === 0,
        'attempts on record',
        `one for each of ${entries.length} inferences`,
        `${list.length}; not on record: ${listed(unrecorded.map(where))}; on record only: ${surplus.length}`,
        refs(exchange, reading, ...entries),
      ],
    }
  }),
})
