// Answers of the read endpoints, as the endpoints define them. Types only: the bundle has nothing of it.
import type { z } from 'zod'
import type { CallRecord } from '../core/record.ts'
import type { health } from '../endpoints/health.ts'
import type { keys } from '../endpoints/keys.ts'
import type { readyz } from '../endpoints/readyz.ts'
import type { recordings } from '../endpoints/recordings.ts'
import type { refusedCalls } from '../endpoints/refused-calls.ts'
import type { artifact } from '../endpoints/request-logs.ts'
import type { resolve } from '../endpoints/resolve.ts'
import type { routes } from '../endpoints/routes.ts'
import type { session, sessions } from '../endpoints/sessions.ts'
import type { usageHistory } from '../endpoints/usage.ts'

type Answer<Endpoint extends { readonly response: z.ZodType }> = z.output<Endpoint['response']>

export interface Listed {
  readonly data: readonly CallRecord[]
  readonly has_more: boolean
  readonly next_cursor: string | null
}
export type History = Answer<typeof usageHistory>
export type RoutesAnswer = Answer<typeof routes>
export type Resolution = Answer<typeof resolve>
export type Sessions = Answer<typeof sessions>
export type Session = Answer<typeof session>
export type Keys = Answer<typeof keys>
export type Health = Answer<typeof health>
export type Ready = Answer<typeof readyz>
export type RecordingsAnswer = Answer<typeof recordings>
export type Refused = Answer<typeof refusedCalls>
export type Artifact = Answer<typeof artifact>
