// The sender of a request, according to its key.

/** Without configured keys every caller is the operator: `{ name: null, role: 'admin' }`. */
export interface Caller {
  readonly name: string | null
  readonly role: 'client' | 'admin'
}
