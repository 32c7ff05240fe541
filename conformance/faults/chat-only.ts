// Nobody asks a router for pictures.
import { changeJson, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Only chat models and routes are listed.',
  caughtBy: ['CAT-02'],
  start: referenceWith({
    body: (body, { path }) =>
      path === '/v1/models'
        ? changeJson(body, (json) => ({
            ...json,
            data: json.data?.filter(({ type }: { type: string }) => type === 'chat' || type === 'route'),
          }))
        : body,
  }),
} satisfies Fault
