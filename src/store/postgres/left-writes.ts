// Stores writes about calls that another instance has on record until that instance applies them. A batch can
// therefore be fetched at any instance, and is priced once, at the instance with its reservation.
import type { LateWrite } from '../shared-log.ts'
import type { Link } from './link.ts'

/**
 * Leaves a write for the instance that made an open call; does nothing if no such call exists. New objects are known
 * immediately.
 */
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

/** SQL that selects the writes left for an instance, as JSON. New objects come before the end of a call. */
export const LEFT = `(SELECT json_agg(write ORDER BY call_id, kind DESC) FROM waybill.left_writes WHERE instance = ?)`

/**
 * SQL that deletes the writes that an instance has applied. Its values are the ids of the instance and of the calls.
 */
export const TAKEN = 'DELETE FROM waybill.left_writes WHERE instance = ? AND call_id = ANY(?::uuid[])'
