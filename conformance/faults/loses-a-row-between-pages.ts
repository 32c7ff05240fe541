// The cursor stands on the next row, or behind it.
import { changeJson, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Each further page lacks its first row.',
  caughtBy: ['LOG-09'],
  start: referenceWith({
    body: (body, { path }) =>
      path.includes('cursor=') ? changeJson(body, (json) => ({ ...json, data: json.data?.slice(1) })) : body,
  }),
} satisfies Fault
