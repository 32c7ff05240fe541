// TELL: whoever asked is told where the call went.
import { type Check, doubt, finding } from '../check.ts'
import type { Evidence, Exchange } from '../evidence.ts'
import {
  aFallbackStatus,
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
import { at, readChat } from '../reading.ts'
import { failure } from '../scripted.ts'
import type { Target } from '../target.ts'

/** Percent-encoding is this interface's own way; a gateway that knows nothing of it may write a plain "%". */
function decoded(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}

/** Whether the headers of an answer name the provider and model of the entry that served it. */
function headersName(evidence: Evidence, target: Target, exchange: Exchange) {
  const entry = servedBy(evidence, exchange)
  const { provider, model } = target.observability.headers
  const said = (name: string | undefined) => name && decoded(exchange.headers[name.toLowerCase()] ?? '')
  const [byProvider, byModel] = [said(provider), said(model)]
  const ok =
    entry !== null &&
    (provider === undefined || namesProvider(target, entry.provider, byProvider)) &&
    (model === undefined || namesModel(target, entry.provider, entry.model, byModel))
  const told = [byProvider, byModel].filter((each) => each !== undefined).map((each) => each || 'nothing')
  return finding(
    ok,
    `${exchange.label}: the headers say ${told.join(' / ')}, served by ${entry ? where(entry) : 'nobody'}`,
    refs(exchange, entry),
  )
}

export const headersNameTheServer = {
  id: 'TELL-01',
  needs: ['headers'],
  async exercise(session) {
    const { logical, direct } = session.target.models
    for (const { id } of [...logical, ...direct])
      for (const stream of [false, true])
        await session.chat(`${id}${stream ? ', streamed' : ''}`, { model: id, stream })
  },
  judge: ({ evidence, target }) =>
    evidence.exchanges.map((exchange) => headersName(evidence, target, exchange)),
} satisfies Check

export const headersAfterFallback = {
  id: 'TELL-02',
  needs: ['headers', 'fallback'],
  timeout: 60_000,
  async exercise(session) {
    const route = session.target.models.logical.find(({ targets }) => targets.length > 1)!
    // Whichever target is tried first fails; any other answers.
    const script = [{ ...failure(aFallbackStatus(session.target)), same_target: true }, { scenario: 'plain' }]
    for (const stream of [false, true]) {
      await session.chat(stream ? 'streamed' : 'whole', { model: route.id, stream, script })
      await session.wait(session.target.capabilities.cooldown_ms)
    }
  },
  judge: ({ evidence, target }) =>
    evidence.exchanges.map((exchange) => {
      const entries = requestsOf(evidence, exchange)
      const fellBack = new Set(entries.map(where)).size > 1 && exchange.status === 200
      // That it has to fall back is for ROUTE-07 to say.
      return fellBack
        ? headersName(evidence, target, exchange)
        : doubt(`${exchange.label}: the call was not answered after a fallback`, refs(exchange, ...entries))
    }),
} satisfies Check

export const idFindsTheRecord = {
  id: 'TELL-03',
  needs: ['request_id', 'log'],
  async exercise(session) {
    for (const stream of [false, true, false]) {
      const exchange = await session.chat('call', { stream })
      await session.record(`record of #${exchange.n}`, exchange)
    }
  },
  judge({ evidence, target }) {
    const calls = labelled(evidence, 'call')
    const ids = calls.map((exchange) => requestIdOf(target, exchange))
    return [
      finding(
        new Set(ids).size === calls.length,
        `${calls.length} answers carry ${new Set(ids).size} different request ids`,
        calls.map(ref),
      ),
      ...calls.map((exchange, index) => {
        const [reading] = labelled(evidence, `record of #${exchange.n}`)
        const record = ids[index] ? recordIn(target, reading, ids[index]) : undefined
        const { fields, one } = target.observability.log!
        const same = at(record, fields.id) === ids[index]
        const found = one === undefined && reading ? (itemsOf(target, reading) ?? []) : [record]
        const twice = found.filter((item) => at(item, fields.id) === ids[index]).length > 1
        return finding(
          record !== undefined && same && !twice,
          `request id ${ids[index] ?? 'none'} finds ${record === undefined ? 'no record' : twice ? 'more than one record' : 'its record'}`,
          refs(exchange, reading),
        )
      }),
    ]
  },
} satisfies Check

export const contentIsUntouched = {
  id: 'TELL-05',
  async exercise(session) {
    for (const scenario of ['plain', 'long', 'reasoning'])
      for (const stream of [false, true])
        await session.chat(`${scenario}${stream ? ', streamed' : ''}`, { stream, script: [{ scenario }] })
  },
  judge: ({ evidence }) =>
    evidence.exchanges.map((exchange) => {
      const entry = servedBy(evidence, exchange)
      const [got, sent] = [readChat(exchange.body), readChat(entry?.answer.body ?? '')]
      const ok = sent.content !== '' && got.content === sent.content
      return finding(
        ok,
        `${exchange.label}: ${got.content.length} characters of content, the provider sent ${sent.content.length}${ok ? '' : ', and they differ'}`,
        refs(exchange, entry),
      )
    }),
} satisfies Check
