// The single table of requests that can spend money at a provider, by method and path. The gateway's record,
// the mocks' ledger and the suite's counts all use this table; docs/contract.md prints it. Imports no other
// file.

/**
 * Possible answers to "does it spend?". `no`: never an inference. `may`: only some providers charge for the
 * request.
 */
export type Spends = 'yes' | 'may' | 'no'

interface Row {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE' | '*'
  /** Path below the provider's base path. `{id}` is one segment; `{model}` and `{…}` are any text. */
  readonly path: string
  readonly spends: Spends
  readonly about: string
  /** True for a request that only counts tokens. */
  readonly counts?: true
}

/** Rows of the table. The first matching row decides; the last two match everything. */
export const SPENDING: readonly Row[] = [
  { method: 'POST', path: 'messages/count_tokens', spends: 'no', about: 'counts tokens', counts: true },
  { method: 'POST', path: 'models/{model}:countTokens', spends: 'no', about: 'counts tokens', counts: true },
  { method: 'POST', path: 'responses/input_tokens', spends: 'no', about: 'counts tokens', counts: true },
  {
    method: 'POST',
    path: 'responses/{id}/cancel',
    spends: 'no',
    about: 'ends an answer that the provider stores',
  },
  { method: 'POST', path: 'interactions/{id}/cancel', spends: 'no', about: 'ends a stored interaction' },
  { method: 'POST', path: 'batches/{id}/cancel', spends: 'no', about: 'ends a batch' },
  { method: 'POST', path: 'messages/batches/{id}/cancel', spends: 'no', about: 'ends a batch' },
  { method: 'POST', path: 'files', spends: 'no', about: 'stores a file' },
  { method: 'POST', path: 'upload/files', spends: 'no', about: 'stores a file, whole or in parts' },
  { method: 'POST', path: 'skills', spends: 'no', about: 'stores a skill' },
  { method: 'POST', path: 'skills/{id}', spends: 'no', about: 'changes a skill' },
  { method: 'POST', path: 'skills/{id}/versions', spends: 'no', about: 'stores a version of a skill' },
  { method: 'POST', path: 'moderations', spends: 'may', about: 'classifies; free of charge at OpenAI' },
  {
    method: 'POST',
    path: '{…}',
    spends: 'yes',
    about: 'all other calls, known or not; a batch as soon as it is made',
  },
  { method: '*', path: '{…}', spends: 'no', about: 'reads, lists, deletes; also parts of an upload' },
]

const patterns = SPENDING.map((row) => ({
  row,
  pattern: new RegExp(
    `^${row.path
      .replace(/[.*+?^$()|[\]\\]/g, '\\$&')
      .replace('{id}', '[^/]+')
      .replace(/\{[^}]*\}/, '.*')}$`,
  ),
}))

/** Returns the row of a request to a provider. `path`: below the base path, without a leading slash. */
const rowOf = (method: string, path: string): Row =>
  patterns.find(({ row, pattern }) => (row.method === '*' || row.method === method) && pattern.test(path))!
    .row

/** Returns `yes`, `may` or `no` for a request to a provider. */
export const spendsOf = (method: string, path: string): Spends => rowOf(method, path).spends

/** Returns true if a request is an inference, which spends or may spend money. */
export const isInference = (method: string, path: string): boolean => spendsOf(method, path) !== 'no'

/** Returns true if a request counts tokens. */
export const countsTokens = (method: string, path: string): boolean => rowOf(method, path).counts === true
