// Answers of the read endpoints, as the endpoints define them. Contains only types. None of them is in the
// bundle.
import type { z } from 'zod'
import type { CallRecord } from '../core/record.ts'
import type { health, readyz, recordings } from '../endpoints/health.ts'
import type { keptCall, keptCalls } from '../endpoints/kept.ts'
import type { keys } from '../endpoints/keys.ts'
import type { artifact, learnedRefusals, refusedCalls } from '../endpoints/request-logs.ts'
import type { resolve, routes } from '../endpoints/routes.ts'
import type { sessionRead, sessions, usageHistory } from '../endpoints/usage.ts'

type Answer<Endpoint extends { readonly response: z.ZodType }> = z.output<Endpoint['response']>

export interface ListAnswer {
  readonly data: readonly CallRecord[]
  readonly has_more: boolean
  readonly next_cursor: string | null
}
export type HistoryAnswer = Answer<typeof usageHistory>
export type { WhatIfAnswer } from '../endpoints/routes.ts'
export type RoutesAnswer = Answer<typeof routes>
export type ResolveAnswer = Answer<typeof resolve>
export type SessionsAnswer = Answer<typeof sessions>
export type SessionAnswer = Answer<typeof sessionRead>
export type CallBodies = Answer<typeof keptCall>
export type KeptSession = Answer<typeof keptCalls>
export type Keys = Answer<typeof keys>
export type LearnedAnswer = Answer<typeof learnedRefusals>
export type HealthAnswer = Answer<typeof health>
export type Ready = Answer<typeof readyz>
export type RecordingsAnswer = Answer<typeof recordings>
export type RefusedAnswer = Answer<typeof refusedCalls>
export type ArtifactAnswer = Answer<typeof artifact>
