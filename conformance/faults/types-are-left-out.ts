// The name says what it is.
import { changeJson, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Models are listed without their type.',
  caughtBy: ['CAT-02'],
  start: referenceWith({
    body: (body, { path }) =>
      path === '/v1/models'
        ? changeJson(body, (json) => ({
            ...json,
            data: json.data?.map(({ type: _, ...rest }: { type: string }) => rest),
          }))
        : body,
  }),
} satisfies Fault
