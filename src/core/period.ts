// Periods of a budget: a day, a week from Monday, a month (all in UTC), or a session. Computes their names in
// the record and their ends. Pure.

export const PERIODS = ['day', 'week', 'month', 'session'] as const
export type Period = (typeof PERIODS)[number]

/** A sum of a key's spending. */
export interface Account {
  readonly keyName: string
  /** Name of the period: `2026-11-25`, `week 2026-11-23`, `2026-11` or `session ID`. */
  readonly period: string
}

export const accountName = ({ keyName, period }: Account): string => `${keyName}\n${period}`

export const isSession = ({ period }: Account): boolean => period.startsWith('session ')

const DAY_MS = 86_400_000

/** Returns the name of the period at a given time; null for a session period if the call has no session. */
export function periodOf(per: Period, at: number, sessionId: string | null): string | null {
  switch (per) {
    case 'day':
      return dateOf(at)
    case 'week':
      return `week ${dateOf(mondayOf(at))}`
    case 'month':
      return dateOf(at).slice(0, 7)
    case 'session':
      return sessionId === null ? null : `session ${sessionId}`
  }
}

/** Returns all periods to which a call belongs. */
export const periodsOf = (at: number, sessionId: string | null): string[] =>
  PERIODS.flatMap((per) => periodOf(per, at, sessionId) ?? [])

/**
 * Returns the end of the period at a given time, in ms since the epoch. Returns null for a session, which has
 * no end.
 */
export function endOf(per: Period, at: number): number | null {
  const date = new Date(at)
  switch (per) {
    case 'day':
      return startOfDay(at) + DAY_MS
    case 'week':
      return mondayOf(at) + 7 * DAY_MS
    case 'month':
      return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1)
    case 'session':
      return null
  }
}

/** Returns the start of the period at a given time, ms since the epoch; null for a session. */
export function periodStart(per: Period, at: number): number | null {
  const date = new Date(at)
  switch (per) {
    case 'day':
      return startOfDay(at)
    case 'week':
      return mondayOf(at)
    case 'month':
      return Date.UTC(date.getUTCFullYear(), date.getUTCMonth())
    case 'session':
      return null
  }
}

const dateOf = (at: number): string => new Date(at).toISOString().slice(0, 10)

const startOfDay = (at: number): number => Math.floor(at / DAY_MS) * DAY_MS

const mondayOf = (at: number): number => startOfDay(at) - ((new Date(at).getUTCDay() + 6) % 7) * DAY_MS
