// Every check, by its id. A new subject is a file in checks/ and a line here.
import type { Check } from './check.ts'
import * as cat from './checks/cat.ts'
import * as fail from './checks/fail.ts'
import * as flow from './checks/flow.ts'
import * as keep from './checks/keep.ts'
import * as life from './checks/life.ts'
import * as log from './checks/log.ts'
import * as names from './checks/names.ts'
import * as pure from './checks/pure.ts'
import * as record from './checks/record.ts'
import * as route from './checks/route.ts'
import * as strategies from './checks/strategies.ts'
import * as tell from './checks/tell.ts'
import * as tokens from './checks/tokens.ts'
import * as use from './checks/use.ts'

const subjects: readonly Readonly<Record<string, Check>>[] = [
  pure,
  route,
  strategies,
  tell,
  names,
  log,
  record,
  use,
  tokens,
  flow,
  keep,
  fail,
  life,
  cat,
]

export const checks: ReadonlyMap<string, Check> = new Map(
  subjects.flatMap((subject) => Object.values(subject).map((check) => [check.id, check] as const)),
)
