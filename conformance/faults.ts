// Every fault, by its name. A new family is a table in faults/ and two lines here.
import type { Fault } from './fault.ts'
import { faults as cat } from './faults/cat.ts'
import { faults as fail } from './faults/fail.ts'
import { faults as flow } from './faults/flow.ts'
import { faults as keep } from './faults/keep.ts'
import { faults as life } from './faults/life.ts'
import { faults as log } from './faults/log.ts'
import { faults as messages } from './faults/messages.ts'
import { faults as pure } from './faults/pure.ts'
import { faults as responses } from './faults/responses.ts'
import { faults as route } from './faults/route.ts'
import { faults as suite } from './faults/suite.ts'
import { faults as surfaces } from './faults/surfaces.ts'
import { faults as tell } from './faults/tell.ts'
import { faults as use } from './faults/use.ts'

const families = {
  ...{ cat, fail, flow, keep, life, log, messages, pure, responses, route, suite },
  ...{ surfaces, tell, use },
}

export const faults: ReadonlyMap<string, Fault> = new Map(
  Object.values(families).flatMap((table) => Object.entries<Fault>(table)),
)

/** The table that a fault is in: `faults/keep.ts`. */
export const fileOf = (name: string): string =>
  `faults/${Object.entries(families).find(([, table]) => Object.hasOwn(table, name))![0]}.ts`
