// Refusals learned from providers, by provider, model, parameter and value. A file in the data directory
// stores them for seven days. A refusal is stored only if the provider accepted the same request without the
// parameter, or with the replacement that the provider asked for. `waybill models forget` may change the file
// at any time. A broken file counts as empty.
import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { clock } from '../shared/clock.ts'

const FILE = 'learned-refusals.json'
const MAX_AGE_MS = 7 * 24 * 3_600_000
/** Maximum number of stored refusals. The oldest are dropped first. */
const MAX_LEARNED = 1_000
/** Interval between checks for a changed file, ms. */
const LOOK_EVERY_MS = 1_000

const schema = z.strictObject({
  provider: z.string(),
  model: z.string(),
  parameter: z.string(),
  /** JSON text of the refused value; null if every value is refused. */
  value: z.string().nullable(),
  /** True if the provider asked for a replacement and accepted it. */
  isReplaced: z.boolean().optional(),
  learned_at: z.iso.datetime(),
})
export type LearnedRefusal = z.output<typeof schema>
type NewRefusal = Omit<LearnedRefusal, 'learned_at'>

export interface LearnedRefusals {
  /** Returns the learned refusals of a provider's model that are not too old. */
  of(provider: string, model: string): readonly LearnedRefusal[]
  list(): readonly LearnedRefusal[]
  add(refusal: NewRefusal): void
  /** Forgets the refusals that `isForgotten` selects, and returns them. */
  forget(isForgotten: (refusal: LearnedRefusal) => boolean): readonly LearnedRefusal[]
}

/** Returns the time at which a refusal is forgotten. */
export const learnedUntil = (learnedAt: string): string =>
  new Date(Date.parse(learnedAt) + MAX_AGE_MS).toISOString()

/** Learned refusals for replayed calls, always empty. */
export const NOTHING_LEARNED: LearnedRefusals = {
  of: () => [],
  list: () => [],
  add: () => {},
  forget: () => [],
}

/** `onWritten`: called after each attempt to write the file, with the reason of a failure or null. */
export function openLearnedRefusals(
  directory: string,
  now: () => number = clock.now,
  onWritten: (failure: string | null) => void = () => {},
): LearnedRefusals {
  const file = join(directory, FILE)
  let all: readonly LearnedRefusal[] = []
  let stamp = ''
  let lookedAt = Number.NEGATIVE_INFINITY
  const look = (always: boolean): readonly LearnedRefusal[] => {
    const at = now()
    if (always || at - lookedAt >= LOOK_EVERY_MS) {
      lookedAt = at
      const found = stampOf(file)
      if (found !== stamp) all = found === '' ? [] : readAll(file)
      stamp = found
    }
    return all.filter(({ learned_at }) => at - Date.parse(learned_at) < MAX_AGE_MS)
  }
  const write = (refusals: readonly LearnedRefusal[]): void => {
    all = refusals
    const next = `${file}.next`
    writeFileSync(next, `${JSON.stringify(refusals, null, 1)}\n`, { mode: 0o600 })
    renameSync(next, file)
    stamp = stampOf(file)
  }
  return {
    of: (provider, model) => look(false).filter((each) => each.provider === provider && each.model === model),
    list: () => look(true),
    add(refusal) {
      const isSame = (each: NewRefusal) =>
        (['provider', 'model', 'parameter', 'value'] as const).every((name) => each[name] === refusal[name])
      const others = look(true).filter((each) => !isSame(each))
      const learned_at = new Date(now()).toISOString()
      try {
        write([...others, { ...refusal, learned_at }].slice(-MAX_LEARNED))
        onWritten(null)
      } catch (error) {
        onWritten((error as Error).message) // the refusal is remembered until this program ends
      }
    },
    forget(isForgotten) {
      const [before, kept] = [look(true), look(true).filter((each) => !isForgotten(each))]
      if (kept.length < before.length) write(kept)
      return before.filter(isForgotten)
    },
  }
}

/** Returns a string that changes with the file; empty if there is no file. */
function stampOf(file: string): string {
  const stats = statSync(file, { throwIfNoEntry: false, bigint: true })
  return stats ? `${stats.ino} ${stats.mtimeNs} ${stats.size}` : ''
}

function readAll(file: string): LearnedRefusal[] {
  try {
    return z.array(schema).parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch {
    return []
  }
}
