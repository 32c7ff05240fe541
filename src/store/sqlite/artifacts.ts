// The ring of artifacts in the database: the newest artifacts, bounded by count and bytes. An artifact is deleted
// when the ring is full or when its call is deleted. The call's record says whether its artifact exists.

import type { Database } from 'better-sqlite3'
import type { Artifact, ArtifactLimits } from '../artifact-buffer.ts'
import type { ArtifactReads } from '../reads.ts'

interface ArtifactRing {
  /** Adds artifacts of recorded calls and drops the oldest beyond the limits, in one transaction. */
  keep(artifacts: readonly Artifact[]): void
}

export function openArtifactRing(db: Database, limits: ArtifactLimits): ArtifactRing {
  const add = db.prepare(
    `INSERT INTO artifacts (call_id, bytes, json)
       SELECT @callId, @bytes, @json WHERE EXISTS (SELECT 1 FROM call_logs WHERE id = @callId)
       ON CONFLICT DO NOTHING`,
  )
  const held = db.prepare<[], { count: number; bytes: number }>(
    'SELECT count(*) AS count, coalesce(sum(bytes), 0) AS bytes FROM artifacts',
  )
  const oldest = db.prepare<[], { call_id: string; bytes: number }>(
    'SELECT call_id, bytes FROM artifacts ORDER BY call_id LIMIT 1',
  )
  const drop = db.prepare('DELETE FROM artifacts WHERE call_id = ?')
  const keep = db.transaction((artifacts: readonly Artifact[]) => {
    for (const { callId, json } of artifacts) {
      const bytes = Buffer.byteLength(json)
      if (bytes <= limits.bytes) add.run({ callId, bytes, json })
    }
    let { count, bytes } = held.get()!
    while (count > limits.keep || bytes > limits.bytes) {
      const { call_id, bytes: freed } = oldest.get()!
      drop.run(call_id)
      count--
      bytes -= freed
    }
  })
  return { keep }
}

export function openArtifactReads(db: Database): ArtifactReads {
  const find = db
    .prepare<object, string>(
      `SELECT json FROM artifacts JOIN call_logs ON id = call_id
         WHERE call_id = @id AND (@key IS NULL OR key_name = @key)`,
    )
    .pluck()
  return { artifact: (id, keyName) => find.get({ id, key: keyName ?? null }) ?? null }
}
