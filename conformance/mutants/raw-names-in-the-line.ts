// The line shows what was asked for.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'The status line prints a name as it came.',
  kills: ['TELL-06'],
  start: bent({
    body: (body, { path }) =>
      path.startsWith('/api/statusline')
        ? `${body}${new URL(path, 'http://gateway').searchParams.get('model')}\n`
        : body,
  }),
} satisfies Mutant
