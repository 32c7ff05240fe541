// Writes about a call that another instance has on record: they wait here until that instance takes them. So a batch
// can be fetched anywhere, and is priced once, where its reservation is.
import type { LateWrite } from '../shared-log.ts'
import type { Link } from './link.ts'

/** Leaves a write for the instance that made an open call; nothing if there is none. New objects are known at once. */
export async function leave(link: Link, write: LateWrite): Promise<void> {
  const objects = write.kind === 'streaming' && write.objects ? JSON.stringify(write.objects) : null
  await link.query(
    `WITH made AS (
       UPDATE waybill.calls SET objects = coalesce(?, objects) WHERE id = ? AND completed_at IS NULL RETURNING id, instance
     )
     INSERT INTO waybill.left_writes (call_id, kind, instance, write) SELECT id, ?, instance, ?::json FROM made
     ON CONFLICT (call_id, kind) DO UPDATE SET write = excluded.write`,
    [objects, write.id, write.kind, JSON.stringify(write)],
  )
}

/** SQL of what was left for an instance, as JSON: new objects before the end of a call. */
export const LEFT = `(SELECT json_agg(write ORDER BY call_id, kind DESC) FROM waybill.left_writes WHERE instance = ?)`

/** SQL that deletes what an instance has taken: its id, and those of the calls. */
export const TAKEN = 'DELETE FROM waybill.left_writes WHERE instance = ? AND call_id = ANY(?::uuid[])'
