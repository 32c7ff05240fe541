// Reads the session from `metadata.user_id`, which clients send in more than one dialect.
import { member } from './json.ts'

const SUFFIX = '_session_'

/** `user_id` is JSON with a `session_id`, or a text that ends in `_session_<id>`; null for anything else. */
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
