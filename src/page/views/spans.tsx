// The span of time of a view, stored in the URL.
import { change, params } from '../place.ts'

const WINDOWS = { '24h': 'last 24 hours', '7d': 'last 7 days', '30d': 'last 30 days' } as const
type Window = keyof typeof WINDOWS
const USUAL = '24h'

export function windowOf(): Window {
  const asked = params.value.get('window')
  return asked !== null && asked in WINDOWS ? (asked as Window) : USUAL
}

export function Spans() {
  return (
    <select
      aria-label="Time"
      value={windowOf()}
      onChange={(event) =>
        change({ window: event.currentTarget.value === USUAL ? null : event.currentTarget.value })
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
