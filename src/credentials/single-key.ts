// The most common case: one key from the environment, or no key.
import { createKeySearch } from '../shared/redact.ts'
import type { Credential, Credentials } from './credentials.ts'

export function singleKey(key: string | null): Credentials {
  const credential: Credential = { key }
  return {
    areCallers: false,
    take: () => credential,
    holdsSecret: key === null ? () => false : createKeySearch(key),
  }
}
