// Errors are passed on as they came.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'The key of the provider stands in an error.',
  kills: ['KEEP-01'],
  start: bent({
    body: (body, _, { env }) =>
      body.includes('"error"') ? body.replace('"message":"', `"message":"${env.OPENAI_KEY}: `) : body,
  }),
} satisfies Mutant
