// Builds the write that closes a call's record, from the facts known at the end. Changes nothing.
import type { Route } from '../core/call.ts'
import type { KnownCost } from '../core/record.ts'
import { lossesOf, type SendResult } from '../providers/send.ts'
import type { Mask } from '../shared/redact.ts'
import type { Write } from '../store/writes.ts'
import type { AnswerResult } from './answer.ts'
import type { CallContext } from './context.ts'

export type Closing = Extract<Write, { kind: 'close' }>

interface EndOfCall extends AnswerResult {
  readonly id: string
  readonly route: Route
  /** Details of how the call was sent; null if it was not sent. */
  readonly sent: Omit<SendResult, 'answer'> | null
  /** Used part of a subscription, from the last answer; null if not reported. */
  readonly planLimits: string | null
  /** Cost of all attempts before the last; null if there was only one. */
  readonly earlier: KnownCost | null
  readonly isFromCache: boolean
  /** Cached tokens that the conversation lost by moving to another target; null if it did not move. */
  readonly cacheLost: number | null
  /** True if the provider's id for the answer is recorded. */
  readonly keepsAnswer: boolean
  readonly latencyMs: number
}

export function closingOf(
  {
    id,
    route,
    sent,
    planLimits,
    earlier,
    isFromCache,
    cacheLost,
    keepsAnswer,
    latencyMs,
    attempt,
    outcome,
  }: EndOfCall,
  { price, mask, now }: Pick<CallContext, 'price' | 'mask' | 'now'>,
): Closing {
  const at = now()
  const target = sent?.target ?? route.candidates[0]
  const last = sent?.failed ?? attempt
  return {
    kind: 'close',
    id,
    at,
    requestsSent: sent?.requestsSent ?? 0,
    fallbacks: sent?.fallbacks ?? 0,
    target,
    ended: isFromCache
      ? null
      : {
          n: sent?.n ?? 1,
          target,
          outcome: last.outcome,
          status: last.status,
          errorCode: maskedCode(last.errorCode, mask),
          refusal: maskedName(last.refusal, mask),
          tokens: last.tokens,
          losses: sent && lossesOf(sent),
          adjusted: sent?.adjusted.length ? sent.adjusted : null,
          credential: sent?.credential ?? null,
          transport: sent?.transport ?? null,
        },
    cost: price(target, last.tokens, at, outcome.responseModel),
    ...(earlier && { earlier }),
    outcome: {
      state: outcome.state,
      status: outcome.status,
      errorCode: maskedCode(outcome.errorCode, mask),
      responseModel: maskedName(outcome.responseModel, mask),
      responseId: keepsAnswer ? maskedName(outcome.responseId, mask) : null,
      containerId: maskedName(outcome.containerId, mask),
      cacheLost,
      planLimits,
      latencyMs,
      ttftMs: outcome.ttftMs,
      tokens: attempt.tokens,
    },
  }
}

/** Masks an error code, because a provider may put anything into the code, even its key. */
export const maskedCode = (code: string | null, mask: Mask): string | null =>
  code === null ? null : mask(code)

/**
 * Maximum masked length of a model's name, an id or a sentence, in characters. The record stores fewer, so no secret is
 * cut in two.
 */
const MAX_NAME_LENGTH = 4_096

export const maskedName = (name: string | null | undefined, mask: Mask): string | null =>
  name ? mask(name.slice(0, MAX_NAME_LENGTH)) : null
