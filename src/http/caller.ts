// The sender of a request, according to its key.
import type { CallerCredential } from '../credentials/caller-credential.ts'

/** Without configured keys every caller is the operator: `{ name: null, role: 'admin' }`. */
export interface Caller {
  readonly name: string | null
  readonly role: 'client' | 'admin'
  /** A credential of its own, for a provider with `auth: caller`. */
  readonly credential?: CallerCredential | null
}
