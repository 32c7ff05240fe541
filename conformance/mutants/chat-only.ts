// Nobody asks a router for pictures.
import { bent, changeJson, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Only chat models and routes are listed.',
  kills: ['CAT-02'],
  start: bent({
    body: (body, { path }) =>
      path === '/v1/models'
        ? changeJson(body, (json) => ({
            ...json,
            data: json.data?.filter(({ type }: { type: string }) => type === 'chat' || type === 'route'),
          }))
        : body,
  }),
} satisfies Mutant
