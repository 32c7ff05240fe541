// The control: the reference gateway behind hooks that change nothing. It must pass everything, which shows
// that a must-fail gateway is caught for its own error and not for the hooks.
import { referenceWith } from './gateway.ts'

export const start = referenceWith({})
