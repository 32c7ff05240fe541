// Errors are passed on as they came.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'The key of the provider stands in an error.',
  caughtBy: ['KEEP-01'],
  start: referenceWith({
    body: (body, _, { env }) =>
      body.includes('"error"') ? body.replace('"message":"', `"message":"${env.OPENAI_KEY}: `) : body,
  }),
} satisfies Fault
