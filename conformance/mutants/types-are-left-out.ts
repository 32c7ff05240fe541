// The name says what it is.
import { bent, changeJson, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Models are listed without their type.',
  kills: ['CAT-02'],
  start: bent({
    body: (body, { path }) =>
      path === '/v1/models'
        ? changeJson(body, (json) => ({
            ...json,
            data: json.data?.map(({ type: _, ...rest }: { type: string }) => rest),
          }))
        : body,
  }),
} satisfies Mutant
