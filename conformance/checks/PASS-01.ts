// PASS-01: A call that is relayed without being parsed is on record. A read of a file that a provider keeps is also
// on record, and costs nothing. (Waybill: the record is made before a byte of the call leaves, with its key and
// under the key's limits, even if the upload stops or the gateway is killed. Only endpoints that the configuration
// names exist.)

import { amountIn, recordIn, refs, requestIdOf } from '../dialects/lookup.ts'
import { arrivedOf, fileIn, postJson, RELAYED_CALLS, uploadOf } from '../dialects/passthrough.ts'
import { at } from '../evidence/reading.ts'
import { recordExchange, step, stepText } from '../evidence/step.ts'
import { absent, type Check, doubt, finding } from '../runner/check.ts'
import type { Target } from '../target/schema.ts'

const steps = {
  call: step<{ endpoint: string; nonce: string }>('relayed call'),
  upload: step<{ nonce: string }>('upload'),
  read: step('read of the file'),
}

/** Returns the reason why this target's records of relayed calls cannot be found; null if they can. */
function whyNoRecord({ observability: { headers, log } }: Target): string | null {
  if (headers.request_id === undefined)
    return 'its request ids are not in a header, and the body of a relayed answer is the provider’s'
  if (/^https?:/.test(log!.path))
    return 'its log has an address of its own, so that the records of another instance cannot be read'
  return null
}

export const relayedIsRecorded = {
  id: 'PASS-01',
  needs: ['passthrough', 'variant:passthrough', 'request_id'],
  async exercise(session) {
    const { endpoints } = session.target.capabilities.passthrough!
    await session.another('passthrough')
    for (const endpoint of ['moderations', 'audio'] as const) {
      if (!endpoints.includes(endpoint)) continue
      const nonce = session.nonce()
      const { path, body } = RELAYED_CALLS[endpoint]
      await session.record(
        await session.ask(steps.call.with({ endpoint, nonce }), path, postJson(body(nonce))),
      )
    }
    if (!endpoints.includes('files')) return
    const nonce = session.nonce()
    const upload = await session.ask(steps.upload.with({ nonce }), '/v1/files', uploadOf(nonce))
    await session.record(upload)
    const id = fileIn(upload)
    if (id !== null) await session.record(await session.ask(steps.read, `/v1/files/${id}`))
  },
  judge({ evidence, target }) {
    const unreadable = whyNoRecord(target)
    if (unreadable !== null) return [absent('relayed-is-recorded', unreadable)]
    const calls = [...steps.call.in(evidence), ...steps.upload.in(evidence)].map((exchange) => ({
      exchange,
      entries: arrivedOf(evidence, exchange.details.nonce),
    }))
    const reads = steps.read.in(evidence).map((exchange) => ({
      exchange,
      entries: evidence.ledger.filter(
        ({ method, path }) => method === 'GET' && exchange.request.path.endsWith(path.split('/').at(-1)!),
      ),
    }))
    return [...calls, ...reads].flatMap(({ exchange, entries }) => {
      const what = stepText(exchange)
      if (entries.length === 0)
        return [doubt('relayed-is-recorded', `"${what}" did not reach the mock.`, refs(exchange))]
      const reading = recordExchange(evidence, exchange)
      const record = reading && recordIn(target, reading, requestIdOf(target, exchange)!)
      const isThere = record !== undefined && record !== null
      const recorded = finding(
        'relayed-is-recorded',
        isThere,
        `the record of "${what}", which a provider got`,
        { expected: 'a record', actual: isThere ? 'a record' : `none (${reading?.status ?? 'no id'})` },
        refs(exchange, reading, ...entries),
      )
      const cost = at(record, target.observability.log!.fields.cost)
      if (!isThere || exchange.request.method !== 'GET') return [recorded]
      return [
        recorded,
        finding(
          'read-costs-nothing',
          cost === undefined || cost === null || amountIn(cost) === 0,
          `the cost of "${what}"`,
          { expected: '0, or none', actual: String(cost) },
          refs(exchange, reading),
        ),
      ]
    })
  },
} satisfies Check
