// Control: the reference gateway behind hooks that change nothing. It must pass all checks, which shows that
// a must-fail gateway fails because of its own mistake, not because of the hooks.
import { referenceWith } from './gateway.ts'

export const start = referenceWith({})
