// LOG-02: The record names the requested model, and the resolved provider and model as in the ledger. It has
// strategy, session, latency, tokens and cost if the target file maps them (Waybill: all).

import {
  amountIn,
  askedModel,
  namesModel,
  namesProvider,
  recordIn,
  refs,
  requestIdOf,
  servedBy,
} from '../dialects/lookup.ts'
import { readSent } from '../dialects/registry.ts'
import type { Exchange } from '../evidence/evidence.ts'
import { at } from '../evidence/reading.ts'
import { recordExchange, step, stepText } from '../evidence/step.ts'
import { type Check, type Finding, finding, type Judging } from '../runner/check.ts'

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

const call = step<{ model: string; stream: boolean }>('call')

export const recordNamesTheRoute = {
  id: 'LOG-02',
  needs: ['log', 'record'],
  timeout: 60_000,
  async exercise(session) {
    const { logical, direct } = session.target.models
    const { session: declared } = session.target.capabilities
    for (const { id } of [...logical, ...direct])
      for (const stream of [false, true]) {
        // Only streamed calls belong to a session.
        const headers = declared && stream ? { [declared.header]: `session-${session.nonce()}` } : {}
        const exchange = await session.chat(call.with({ model: id, stream }), { model: id, stream, headers })
        await session.record(exchange)
      }
  },
  judge: ({ evidence, target, waybill }) =>
    call.in(evidence).flatMap((exchange) => {
      const reading = recordExchange(evidence, exchange)
      const record = recordIn(target, reading, requestIdOf(target, exchange) ?? '')
      const found = finding(
        'has-a-record',
        record !== undefined,
        `the record of "${stepText(exchange)}"`,
        { expected: 'one', actual: record === undefined ? 'none' : 'one' },
        refs(exchange, reading),
      )
      return record === undefined
        ? [found]
        : [found, ...compare(record, exchange, servedBy(evidence, exchange), { target, waybill })]
    }),
} satisfies Check
