// Asks the gateway where the session went and keeps the answer; when there is none, remembers the last one (LINE-05).
import { ago } from '../terminal/numbers.ts'
import type { Facts } from './facts.ts'
import { findFacts, type Source } from './lookup.ts'
import type { Memory } from './memory.ts'
import type { Payload } from './payload.ts'
import type { SegmentName } from './segments.ts'

export interface Learnt {
  readonly facts: Facts | null
  /** How long ago the call was; null when they are of now, or there are none. */
  readonly age: string | null
  /** Why the gateway did not say; null when it did. */
  readonly problem: string | null
}

/** `address` tells one gateway's sessions from another's. Never rejects. */
export async function learn(
  payload: Payload,
  address: string,
  source: Source,
  segments: readonly SegmentName[],
  memory: Memory,
  now: () => number,
): Promise<Learnt> {
  const subject = [address, payload.sessionId, payload.modelAsGiven]
  try {
    const facts = await findFacts(payload, source, segments)
    const problem =
      facts && payload.sessionId !== null ? keep(memory, subject, facts, timeOf(facts) ?? now()) : null
    return { facts, age: null, problem }
  } catch (error) {
    const last = payload.sessionId === null ? null : memory.recall(subject)
    const problem = `the gateway ${(error as Error).message}`
    return { facts: last?.facts ?? null, age: last && ago(now() - last.at), problem }
  }
}

/** When the call was made, ms since the epoch; null for a forecast. */
const timeOf = ({ created_at }: Facts): number | null => (created_at && Date.parse(created_at)) || null

/** A memory that does not work is no reason not to show what is known now. */
function keep(memory: Memory, subject: readonly (string | null)[], facts: Facts, at: number): string | null {
  try {
    memory.keep(subject, facts, at)
    return null
  } catch (error) {
    return (error as Error).message
  }
}
