// The sender of a request, identified by its key.
import type { CallerCredential } from '../credentials/caller-credential.ts'

/**
 * Authenticated sender. Without configured keys, every caller is the operator: `{ name: null, role: 'admin'
 * }`.
 */
export interface Caller {
  readonly name: string | null
  readonly role: 'client' | 'admin'
  /** The caller's own credential, for a provider with `auth: caller`. */
  readonly credential?: CallerCredential | null
}
