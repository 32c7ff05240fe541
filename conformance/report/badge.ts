// Formats the conclusion of a run for a badge of shields.io, which reads it from a URL. Pure.
import type { Conclusion, Results } from '../judge/judge.ts'

const COLORS: Readonly<Record<Conclusion, string>> = {
  conformant: 'brightgreen',
  partial: 'yellow',
  'not conformant': 'red',
  error: 'lightgrey',
}

export const badge = ({ profile, set, conclusion, counts }: Results) => ({
  schemaVersion: 1,
  label: `waybill ${profile} ${set}`,
  message: conclusion === 'not conformant' ? `${counts.fail + counts.untestable} failed` : conclusion,
  color: COLORS[conclusion],
})
