// Chooses the cases of a run that has no time for all of them: first the cases that the last day's commits
// affect, then cases selected by the commit's hash. The same commit always selects the same cases. Uses git;
// independent of single cases.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'

export interface Sample {
  readonly names: readonly string[]
  /** Message with the numbers of selected and existing cases, and the command for the rest. */
  readonly about: string
}

const git = (...args: string[]): string => execFileSync('git', args, { encoding: 'utf8' }).trim()

/** Returns at most `size` names, beginning with those affected by a change. */
export function sample(
  all: readonly string[],
  size: number,
  isConcerned: (name: string, changed: ReadonlySet<string>) => boolean,
): Sample {
  if (!Number.isInteger(size) || size < 1) throw new Error('--sample: must be a whole number from 1 on')
  const commit = git('rev-parse', 'HEAD')
  const base = git('rev-list', '-1', '--before=1 day ago', 'HEAD')
  const changed = new Set(base ? git('diff', '--name-only', base, 'HEAD').split('\n') : [])
  const concerned = new Set(all.filter((name) => isConcerned(name, changed)))
  const place = (name: string): string =>
    `${concerned.has(name) ? 0 : 1} ${createHash('sha256').update(`${commit} ${name}`).digest('hex')}`
  const order = new Map(all.map((name) => [name, place(name)]))
  const names = all.toSorted((a, b) => (order.get(a)! < order.get(b)! ? -1 : 1)).slice(0, size)
  const tried = names.filter((name) => concerned.has(name)).length
  const about = `a sample of ${names.length} of ${all.length}, by commit ${commit.slice(0, 7)}: ${tried} of the ${concerned.size} that the last day's changes concern, ${names.length - tried} others; without --sample: all`
  return { names, about }
}
