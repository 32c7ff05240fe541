/** Wrong arguments of a command: exit code 2. The message says what is wrong and what to do. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
