// Failures that a project knows of and has not mended yet. They do not fail a run again, each has a reason and an end,
// and an entry that is not needed any more is an error, so that the list only ever gets shorter.
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { z } from 'zod'
import type { Results } from './judge.ts'
import { readRequirements } from './requirements.ts'

const schema = z.array(
  z.strictObject({
    id: z.string(),
    reason: z.string().min(1),
    link: z.url().optional(),
    /** The last day on which it counts. */
    expires: z.iso.date().optional(),
  }),
)
export type Baseline = z.output<typeof schema>

/** A baseline that cannot be read; one line for each problem. */
export class BaselineError extends Error {
  override readonly name = 'BaselineError'
}

export function readBaseline(file: string): Baseline {
  let raw: unknown
  try {
    raw = parse(readFileSync(file, 'utf8'))
  } catch (cause) {
    throw new BaselineError(`${file}: ${(cause as Error).message.split('\n')[0]}`, { cause })
  }
  const parsed = schema.safeParse(raw ?? [])
  if (!parsed.success)
    throw new BaselineError(
      parsed.error.issues.map(({ path, message }) => `${file}: ${path.join('.')}: ${message}`).join('\n'),
    )
  const known = new Set(readRequirements().requirements.map(({ id }) => id))
  const unknown = parsed.data.filter(({ id }) => !known.has(id))
  if (unknown.length > 0)
    throw new BaselineError(`${file}: no such requirement: ${unknown.map(({ id }) => id).join(', ')}`)
  return parsed.data
}

export interface Compared {
  /** Ids of scored failures that no entry excuses. */
  readonly failed: readonly string[]
  readonly known: readonly string[]
  /** Ids of entries whose requirement does not fail, or whose time is over. */
  readonly stale: readonly string[]
}

/** Holds a run against a baseline; `today` as `2026-11-21`. */
export function compareWithBaseline({ verdicts }: Results, baseline: Baseline, today: string): Compared {
  const failing = verdicts
    .filter(
      ({ scored, level, outcome }) =>
        scored && level === 'MUST' && (outcome === 'fail' || outcome === 'untestable'),
    )
    .map(({ id }) => id)
  const tried = new Set(verdicts.filter(({ outcome }) => outcome !== 'disabled').map(({ id }) => id))
  const over = baseline.filter(({ expires }) => expires !== undefined && expires < today).map(({ id }) => id)
  const known = baseline.map(({ id }) => id).filter((id) => failing.includes(id) && !over.includes(id))
  return {
    failed: failing.filter((id) => !known.includes(id)),
    known,
    stale: baseline
      .map(({ id }) => id)
      .filter((id) => over.includes(id) || (tried.has(id) && !failing.includes(id))),
  }
}
