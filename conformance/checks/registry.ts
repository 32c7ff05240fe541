// All checks by id. Each file of a family that is imported here declares its checks.

import { type Check, declared } from './check.ts'
import { furtherOf } from './requirements.ts'
import './messages/stream.ts'
import './messages/content.ts'
import './messages/clients.ts'
import './messages/counts.ts'
import './responses/stream.ts'
import './responses/content.ts'
import './responses/kept.ts'
import './responses/socket.ts'
import './gemini/calls.ts'
import './gemini/answers.ts'
import './interactions/answers.ts'
import './interactions/kept.ts'
import './log/record.ts'
import './log/list.ts'
import './pure/reads.ts'
import './pure/spending.ts'
import './route/targets.ts'
import './route/strategies.ts'
import './route/fields.ts'
import './tell.ts'
import './catalog.ts'
import './use/usage.ts'
import './cost.ts'
import './flow/stream.ts'
import './flow/scenarios.ts'
import './arrive.ts'
import './fail/requests.ts'
import './fail/providers.ts'
import './keep/keys.ts'
import './keep/exposure.ts'
import './life.ts'
import './state.ts'
import './media.ts'
import './passthrough.ts'
import './dial/bodies.ts'
import './dial/history.ts'
import './dial/record.ts'
import './dial/answers.ts'
import './dial/wishes.ts'
import './server/answers.ts'
import './server/requests.ts'

export const checks: ReadonlyMap<string, Check> = new Map(
  declared.flatMap((check) => [
    [check.id, check] as const,
    ...furtherOf(check.id).map((dialect) => {
      const id = `${check.id}@${dialect}`
      const { shares } = check
      const there = shares && furtherOf(shares).includes(dialect) && `${shares}@${dialect}`
      return [id, { ...check, id, dialect, ...(there && { shares: there }) }] as const
    }),
  ]),
)
