// Reads the session from `metadata.user_id`. Clients send this member in several dialects.
import { member } from './json.ts'

const SUFFIX = '_session_'

/**
 * Returns the session of a `user_id` that is JSON with `session_id`, or a string ending in `_session_<id>`.
 * Null otherwise.
 */
export function sessionInMetadata(metadata: unknown): unknown {
  const userId = member(metadata, 'user_id')
  if (typeof userId !== 'string') return null
  try {
    return member(JSON.parse(userId), 'session_id')
  } catch {
    const at = userId.lastIndexOf(SUFFIX)
    return at < 0 ? null : userId.slice(at + SUFFIX.length)
  }
}
