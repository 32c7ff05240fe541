// Parts that the TELL checks share.

import { namesModel, namesProvider, refs, servedBy, where } from '../dialects/lookup.ts'
import type { Evidence, Exchange } from '../evidence/evidence.ts'
import { stepText } from '../evidence/step.ts'
import { finding } from '../runner/check.ts'
import type { Target } from '../target/schema.ts'

/** Decodes percent-encoding for Waybill only; other gateways may write a plain "%". */
export function decoded(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}

/** Checks that the headers of an answer name the provider and model of the entry that served it. */
export function headersName(evidence: Evidence, target: Target, exchange: Exchange) {
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
    'headers-name-the-server',
    ok,
    `the response headers of "${stepText(exchange)}"`,
    {
      expected: entry ? `${where(entry)}, which served` : 'a provider that served',
      actual: told.join(' / '),
    },
    refs(exchange, entry),
  )
}
