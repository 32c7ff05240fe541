// The gateway has its own tokeniser.
import { callIn, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Usage is counted anew instead of being passed on.',
  caughtBy: ['USE-01'],
  start: referenceWith({
    body: (body, wanted) =>
      callIn(wanted) ? body.replace(/"prompt_tokens":\s*\d+/, '"prompt_tokens":2000') : body,
  }),
} satisfies Fault
