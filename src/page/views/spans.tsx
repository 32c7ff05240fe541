// The span of time of a view, stored in the URL.
import { change, params } from '../place.ts'

const WINDOWS = { '24h': 'last 24 hours', '7d': 'last 7 days', '30d': 'last 30 days' } as const
type Window = keyof typeof WINDOWS

export function windowOf(usual: Window = '24h'): Window {
  const asked = params.value.get('window')
  return asked !== null && asked in WINDOWS ? (asked as Window) : usual
}

export function Spans({ usual = '24h' }: { usual?: Window }) {
  return (
    <select
      aria-label="Time"
      value={windowOf(usual)}
      onChange={(event) =>
        change({ window: event.currentTarget.value === usual ? null : event.currentTarget.value })
      }
    >
      {Object.entries(WINDOWS).map(([value, words]) => (
        <option key={value} value={value}>
          {words}
        </option>
      ))}
    </select>
  )
}
