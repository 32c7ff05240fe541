// Every check, by its id. A new subject is a file in checks/ and a line here.
import type { Check } from './check.ts'
import * as cat from './checks/cat.ts'
import * as fail from './checks/fail.ts'
import * as flow from './checks/flow.ts'
import * as keep from './checks/keep.ts'
import * as log from './checks/log.ts'
import * as pure from './checks/pure.ts'
import * as route from './checks/route.ts'
import * as tell from './checks/tell.ts'
import * as use from './checks/use.ts'

const subjects: readonly Readonly<Record<string, Check>>[] = [
  pure,
  route,
  tell,
  log,
  use,
  flow,
  keep,
  fail,
  cat,
]

export const checks: ReadonlyMap<string, Check> = new Map(
  subjects.flatMap((subject) => Object.values(subject).map((check) => [check.id, check] as const)),
)
