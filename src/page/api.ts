// Requests the gateway's read endpoints. Old data stays on screen while newer data is fetched, so that the
// layout does not jump. The types of the answers are those of the endpoints, of which nothing is in the bundle.
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { z } from 'zod'
import type { CallRecord } from '../core/record.ts'
import type { health, readyz, recordings } from '../endpoints/health.ts'
import type { keptCall, keptCalls } from '../endpoints/kept.ts'
import type { keys } from '../endpoints/keys.ts'
import type { artifact, learnedRefusals, refusedCalls } from '../endpoints/request-logs.ts'
import type { resolve, routes } from '../endpoints/routes.ts'
import type { sessionRead, sessions, usageHistory } from '../endpoints/usage.ts'
import { ownOnly } from './place.ts'
import { authorization, signedOut } from './sign-in.tsx'

export class ReadError extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** Reads that can cover a fleet. */
const SHARED =
  /^\/api\/(sessions|routes|analytics\/auto-routing|usage\/(history|logs|request-logs|export))\b(?!.*\/artifact)/

/** Returns the path to request if the reader views a single gateway of a fleet. */
export const scoped = (path: string): string =>
  ownOnly.value && SHARED.test(path) ? `${path}${path.includes('?') ? '&' : '?'}scope=instance` : path

async function ask(path: string, signal?: AbortSignal): Promise<Response> {
  const response = await fetch(scoped(path), { headers: authorization(), ...(signal && { signal }) }).catch(
    (error) => {
      if (signal?.aborted) throw error
      throw new ReadError(0, 'The gateway does not answer. Is it running?')
    },
  )
  if (response.ok) return response
  const body = await response.json().catch(() => null)
  if (response.status === 401) signedOut()
  throw new ReadError(response.status, body?.error?.message ?? `The gateway answered ${response.status}.`)
}

/** Reads a path. Rejects with ReadError, or when `signal` aborts. */
export const fetchRead = async <T>(path: string, signal?: AbortSignal): Promise<T> =>
  (await ask(path, signal)).json()

/** Returns the raw answer, for a file. */
export const readBlob = async (path: string): Promise<Blob> => (await ask(path)).blob()

interface ReadState<T> {
  /** The newest answer, which may belong to the previous path. */
  readonly data: T | null
  readonly error: ReadError | null
  /** True if `data` belongs to the current path. */
  readonly isFresh: boolean
  reload(): void
}

/**
 * Reads a path. Reads it again when the path changes, and every `every` ms while the page is visible. Reads nothing
 * for null.
 */
export function useRead<T>(path: string | null, every?: number): ReadState<T> {
  const state = useSignal<{ path: string | null; data: T | null; error: ReadError | null }>({
    path: null,
    data: null,
    error: null,
  })
  const round = useSignal(0)
  const scope = ownOnly.value
  useEffect(() => {
    if (path === null) return
    const stop = new AbortController()
    fetchRead<T>(path, stop.signal).then(
      (data) => {
        state.value = { path, data, error: null }
      },
      (error) => {
        if (!stop.signal.aborted) state.value = { ...state.value, path, error }
      },
    )
    const timer =
      every === undefined
        ? undefined
        : setTimeout(() => {
            if (!document.hidden) round.value++
          }, every)
    return () => {
      stop.abort()
      clearTimeout(timer)
    }
  }, [path, scope, round.value])
  useEffect(() => {
    if (every === undefined) return
    const look = () => {
      if (!document.hidden) round.value++
    }
    document.addEventListener('visibilitychange', look)
    return () => document.removeEventListener('visibilitychange', look)
  }, [every])
  const { data, error } = state.value
  return { data, error, isFresh: state.value.path === path, reload: () => void round.value++ }
}

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
