// Chores of upkeep: work that no call waits for, such as the deletion of old calls. A chore that fails stops neither
// calls nor other chores, so its failure is noted here, for Health, `waybill doctor` and the metrics.

/** All chores, with the consequence while a chore fails. */
export const CHORES = {
  delete_calls: 'old calls are not deleted',
  delete_responses: 'expired responses are not deleted',
  empty_log: 'the write-ahead log of the record is not emptied',
  shrink_file: 'the file of the record is not made smaller',
  store_artifacts: 'artifacts are not stored',
  drop_shipped: 'calls that the shared log has received are not dropped from the outbox',
  store_refusals: 'refusals learned from providers are not stored, and are lost at the next restart',
  make_shared_days: 'the shared log has no room for the calls of coming days',
  delete_shared_calls: 'old calls stay in the shared log',
  delete_shared_sums: 'old sums stay in the shared log',
  delete_shared_histories: 'old sessions stay in the shared log',
  delete_shared_responses: 'expired responses stay in the shared log',
} as const
export type Chore = keyof typeof CHORES

export interface ChoreFailure {
  readonly chore: Chore
  readonly reason: string
  /** Time of the first failure in a row, ms since the epoch. */
  readonly since: number
}

/** Notes the end of a chore: the reason of its failure, or null. */
export type NoteChore = (chore: Chore, reason: string | null) => void

export interface Upkeep {
  readonly note: NoteChore
  /** Returns the chores that failed the last time. */
  failing(): readonly ChoreFailure[]
}

/** `onChange`: called when a chore begins to fail, and with null when it works again. */
export function createUpkeep(now: () => number, onChange: NoteChore): Upkeep {
  const failures = new Map<Chore, ChoreFailure>()
  return {
    note(chore, reason) {
      const before = failures.get(chore)
      if (reason === null) failures.delete(chore)
      else failures.set(chore, { chore, reason, since: before?.since ?? now() })
      if ((before === undefined) !== (reason === null)) onChange(chore, reason)
    },
    failing: () => [...failures.values()],
  }
}

/** Describes a failing chore in one sentence. */
export const describeFailure = ({ chore, reason, since }: ChoreFailure): string =>
  `${CHORES[chore] ?? 'a chore of upkeep fails'} (${chore}, since ${new Date(since).toISOString()}): ${reason}`
