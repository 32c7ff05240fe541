// A moment in the reader's zone, with UTC on hover.
import * as format from '../format.ts'

export function Time({ iso }: { iso: string }) {
  return (
    <time dateTime={iso} title={format.utc(iso)}>
      {format.time(iso)}
    </time>
  )
}
