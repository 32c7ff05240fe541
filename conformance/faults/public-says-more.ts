// A price list does no harm.
import { changeJson, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Public metadata holds a field more.',
  caughtBy: ['KEEP-05'],
  start: referenceWith({
    body: (body, { path }) =>
      path === '/v1beta/models'
        ? changeJson(body, (json) => ({
            models: json.models?.map((each: object) => ({ ...each, base_url: 'https://internal.example' })),
          }))
        : body,
  }),
} satisfies Fault
