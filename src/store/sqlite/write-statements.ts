// The statements that write what happens to a call (`../writes.ts`). Runs in the writer thread.
import type { Database } from 'better-sqlite3'
import type { Tokens } from '../../call.ts'
import type { EndedAttempt, Write } from '../writes.ts'
import { CLOSED_CALL, type ClosedCall, type RollUps } from './roll-ups.ts'
import { prepareSpending } from './spending.ts'

const NO_TOKENS: { readonly [count in keyof Tokens]: null } = {
  source: null,
  input: null,
  output: null,
  cached_input: null,
  cache_write: null,
  reasoning: null,
}

/** Prepares the statements on a connection and returns the function that runs one write, outside any transaction. */
export function prepareWrites(db: Database, rollUps: RollUps): (write: Write) => void {
  const openCall = db.prepare(`
    INSERT INTO call_logs (id, created_at, state, endpoint, requested_model, resolved_provider, resolved_model,
      picked_provider, picked_model, route, strategy, tier, decision, session_id, agent_id, key_name, stream,
      attempts, fallbacks, cache)
    VALUES (@id, @createdAt, 'routed', @endpoint, @requestedModel, @provider, @model,
      @provider, @model, @route, @strategy, @tier, @decision, @sessionId, @agentId, @keyName, @stream,
      @attempts, 0, @cache)`)
  const openAttempt = db.prepare(`
    INSERT INTO call_attempts (call_id, n, provider, model, started_at, outcome)
    VALUES (?, ?, ?, ?, ?, 'open')`)
  const closeAttempt = db.prepare(`
    UPDATE call_attempts SET ended_at = ?, status = ?, outcome = ?, error_code = ?, tokens_input = ?, tokens_output = ?,
      tokens_cached_input = ?, tokens_cache_write = ?, tokens_reasoning = ?, tokens_source = ?, cost_usd = ?
    WHERE call_id = ? AND n = ? AND outcome = 'open'`)
  const withdrawAttempt = db.prepare(`
    UPDATE call_attempts SET ended_at = ?, outcome = 'not_sent', error_code = 'log_unavailable'
    WHERE call_id = ? AND outcome = 'open'`)
  const resolveAgain = db.prepare(`
    UPDATE call_logs SET resolved_provider = ?, resolved_model = ?, tier = ?, attempts = ?, fallbacks = ? WHERE id = ?`)
  // It may be tried again after its call was closed.
  const streaming = db.prepare(
    `UPDATE call_logs SET state = 'streaming', ttft_ms = ? WHERE id = ? AND completed_at IS NULL`,
  )
  const closeCall = db.prepare<object, ClosedCall>(`
    UPDATE call_logs SET completed_at = @at, state = @state, status = @status, error_code = @errorCode,
      response_model = @responseModel, latency_ms = @latencyMs, ttft_ms = @ttftMs, attempts = @requestsSent,
      tokens_input = @input, tokens_output = @output, tokens_cached_input = @cached_input,
      tokens_cache_write = @cache_write, tokens_reasoning = @reasoning, tokens_source = @source,
      cost_usd = @cost, price_id = @priceId, saved_usd = @saved
    WHERE id = @id AND completed_at IS NULL RETURNING ${CLOSED_CALL}`)
  const spend = prepareSpending(db)

  const findPrice = db.prepare<[string], number>('SELECT id FROM prices WHERE snapshot = ?').pluck()
  const addPrice = db
    .prepare<[string], number>('INSERT INTO prices (snapshot) VALUES (?) RETURNING id')
    .pluck()
  const priceId = (snapshot: string) => findPrice.get(snapshot) ?? addPrice.get(snapshot)

  const end = (
    id: string,
    at: number,
    { n, status, outcome, errorCode, tokens }: EndedAttempt,
    usd: number | null,
  ) => {
    const t = tokens ?? NO_TOKENS
    const { changes } = closeAttempt.run(
      at,
      status,
      outcome,
      errorCode,
      t.input,
      t.output,
      t.cached_input,
      t.cache_write,
      t.reasoning,
      t.source,
      usd,
      id,
      n,
    )
    // It may have been written before: of a writer that dies nobody knows whether it committed its last batch.
    if (usd !== null && changes > 0) spend(id, usd)
  }

  return (write) => {
    switch (write.kind) {
      case 'open': {
        const { call, route } = write
        const [{ provider, model, tier }] = route.candidates
        const decision = JSON.stringify(route.decision)
        openCall.run({
          ...call,
          attempts: call.cache === 'HIT' ? 0 : 1,
          stream: call.stream ? 1 : 0,
          provider,
          model,
          tier,
          route: route.name,
          strategy: route.strategy,
          decision,
        })
        if (call.cache !== 'HIT') openAttempt.run(call.id, 1, provider, model, call.createdAt)
        return
      }
      case 'next': {
        const { id, at, ended, cost, target, fallbacks, requestsSent } = write
        end(id, at, ended, cost.usd)
        openAttempt.run(id, ended.n + 1, target.provider, target.model, at)
        resolveAgain.run(target.provider, target.model, target.tier, requestsSent + 1, fallbacks, id)
        return
      }
      case 'streaming':
        streaming.run(write.ttftMs, write.id)
        return
      case 'close': {
        const { id, at, ended, cost, target, fallbacks, outcome, requestsSent } = write
        if (ended) end(id, at, ended, cost.usd)
        // The writer may have died over a `next` that it had committed: that attempt was refused, so it was not made.
        if (outcome.state !== 'completed' && withdrawAttempt.run(at, id).changes > 0)
          resolveAgain.run(target.provider, target.model, target.tier, requestsSent, fallbacks, id)
        // Earlier attempts that were refused cost nothing; where one may have cost something, outcome.tokens is null.
        const summed = outcome.tokens !== null ? cost.usd : null
        const closed = closeCall.get({
          id,
          at,
          requestsSent,
          ...outcome,
          ...(outcome.tokens ?? NO_TOKENS),
          cost: ended ? summed : 0,
          saved: ended ? null : summed,
          priceId: cost.price && priceId(JSON.stringify(cost.price)),
        })
        if (closed) rollUps.count(closed)
      }
    }
  }
}
