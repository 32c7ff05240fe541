// Explains a requirement to the user whose gateway failed it: why it matters, how it is tested, what usually causes a
// failure, where the standard states it. The texts are data, in explanations.yaml.
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { z } from 'zod'

const explanation = z.strictObject({
  why: z.string().min(1),
  test: z.string().min(1),
  causes: z.string().min(1).describe('What usually makes it fail.'),
  links: z.array(z.httpUrl()).default([]).describe('The public standard, where there is one.'),
})
export type Explanation = z.output<typeof explanation>

/** By id of the requirement; the same step up from conformance/ and from dist/. */
export const readExplanations = (): Readonly<Record<string, Explanation>> =>
  z
    .record(z.string(), explanation)
    .parse(parse(readFileSync(new URL('../conformance/explanations.yaml', import.meta.url), 'utf8')))
