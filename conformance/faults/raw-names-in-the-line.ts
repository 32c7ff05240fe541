// The line shows what was asked for.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'The status line prints a name as it came.',
  caughtBy: ['TELL-06'],
  start: referenceWith({
    body: (body, { path }) =>
      path.startsWith('/api/statusline')
        ? `${body}${new URL(path, 'http://gateway').searchParams.get('model')}\n`
        : body,
  }),
} satisfies Fault
