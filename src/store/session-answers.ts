// Builds answers about sessions from sums and their last calls, for every engine. Pure; knows no SQL.
import { clientName, timeOfId } from '../core/call.ts'
import { isOtherModel } from '../shared/model-names.ts'
import type { Session, SessionModel, SessionPart } from './reads.ts'
import { abortedCalls, calls, costsOf, failedCalls, type Sum, tokensInSum, total } from './sql/usage-sum.ts'

/** A session and the id of its first call. */
export interface Begun {
  readonly session_id: string
  readonly first_id: string
}

export interface LastCall {
  readonly id: string
  readonly requested_model: string
  readonly resolved_provider: string
  readonly resolved_model: string
  readonly client: string | null
}

export interface ModelOf {
  readonly provider: string
  readonly model: string
  /** The model that the answer names; absent if the engine does not know it for each call. */
  readonly response_model?: string | null
}

export type AgentOf = Pick<SessionPart, 'agent_id' | 'purpose'>

export const sessionAnswer = (session_id: string, first_id: string, last: LastCall, sum: Sum): Session => ({
  session_id,
  first_seen: seen(first_id),
  last_seen: seen(last.id),
  ...countsOf(sum),
  last_requested_model: last.requested_model,
  last_provider: last.resolved_provider,
  last_model: last.resolved_model,
  last_client: last.client === null ? null : clientName(last.client),
  ...amountsOf(sum),
})

export const byModel = (parts: readonly (ModelOf & { readonly sum: Sum })[]): SessionModel[] =>
  [...Map.groupBy(parts, (part) => JSON.stringify([part.provider, part.model, otherOf(part)])).values()]
    .map((same) => {
      const { provider, model } = same[0]!
      const sum = total(same)
      return { provider, model, answered: otherOf(same[0]!), ...countsOf(sum), ...amountsOf(sum) }
    })
    .sort((a, b) => b.calls - a.calls)

const otherOf = ({ model, response_model: answered }: ModelOf): string | null =>
  isOtherModel(model, answered) ? answered : null

/** Returns the agents of a session in the order of their first call, with the purposes of their calls. */
export const byAgent = (
  parts: readonly (AgentOf & { readonly first_id: string; readonly last_id: string; readonly sum: Sum })[],
): SessionPart[] =>
  [...Map.groupBy(parts, ({ agent_id, purpose }) => JSON.stringify([agent_id, purpose])).values()]
    .map((same) => {
      const { agent_id, purpose } = same[0]!
      const sum = total(same)
      return {
        agent_id,
        purpose,
        first_seen: seen(same.map(({ first_id }) => first_id).sort()[0]!),
        last_seen: seen(
          same
            .map(({ last_id }) => last_id)
            .sort()
            .at(-1)!,
        ),
        ...countsOf(sum),
        ...amountsOf(sum),
      }
    })
    .sort((a, b) => (a.first_seen < b.first_seen ? -1 : 1))

export const newestFirst = (a: Begun, b: Begun): number => (a.first_id < b.first_id ? 1 : -1)
const seen = (callId: string): string => new Date(timeOfId(callId)).toISOString()
const countsOf = (sum: Sum) => ({
  calls: calls(sum),
  failed: failedCalls(sum),
  aborted: abortedCalls(sum),
})
const amountsOf = (sum: Sum) => ({
  tokens: tokensInSum(sum),
  ...costsOf(sum),
})
