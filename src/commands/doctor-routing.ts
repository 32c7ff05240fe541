// Findings of `waybill doctor` about a running gateway: routes without a ready target, and calls that all
// fail. Reads only.
import { type ZodType, z } from 'zod'
import type { Config } from '../config/load.ts'
import type { Finding } from '../core/findings.ts'
import { cleanLabel } from '../terminal/clean.ts'
import { GatewayAccessError } from './gateway-client.ts'

type Ask = <Answer>(path: string, shape: ZodType<Answer>) => Promise<Answer>

const resolution = z.looseObject({
  candidates: z.array(
    z.looseObject({
      provider: z.string(),
      model: z.string(),
      state: z.string(),
      reason: z.string().nullable(),
    }),
  ),
})

const newest = z.looseObject({
  data: z.array(
    z.looseObject({
      id: z.string(),
      state: z.string(),
      completed_at: z.string().nullable(),
      requested_model: z.string(),
      resolved_provider: z.string(),
      resolved_model: z.string(),
      error_code: z.string().nullable(),
    }),
  ),
})

/** Number of newest calls to check. */
const NEWEST_CALLS = 10

/** Rejects with GatewayAccessError. */
export async function routingFindings({ routes }: Config, ask: Ask): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const name of Object.keys(routes)) {
    const query = new URLSearchParams({ model: name })
    const found = await ask(`/api/cloud/model/resolve?${query}`, resolution).catch((error) => {
      if (error instanceof GatewayAccessError && error.status === 404) return null // the file contains a new route
      throw error
    })
    if (!found || found.candidates.some(({ state }) => state === 'ready')) continue
    const each = found.candidates.map(({ provider, model, reason }) => `${provider}/${model} ${reason}`)
    findings.push({ verdict: 'BAD', text: cleanLabel(`no target of ${name} is ready: ${each.join('; ')}`) })
  }
  return [...findings, ...(await failureFindings(ask))]
}

/** Reports whether all of the newest calls failed. */
async function failureFindings(ask: Ask): Promise<Finding[]> {
  const { data } = await ask(`/api/usage/request-logs?limit=${NEWEST_CALLS}`, newest)
  const over = data.filter(({ completed_at }) => completed_at !== null)
  const [last] = over
  if (!last || over.some(({ state }) => state !== 'failed')) return []
  const { id, completed_at, requested_model, resolved_provider, resolved_model, error_code } = last
  const which = over.length === 1 ? 'the only call on record' : `each of the newest ${over.length} calls`
  return [
    {
      verdict: 'BAD',
      text: cleanLabel(
        `${which} failed, last ${requested_model} → ${resolved_provider}/${resolved_model} with ${error_code ?? 'an error'} at ${completed_at}; its attempts: /api/usage/request-logs/${id}`,
      ),
    },
  ]
}
