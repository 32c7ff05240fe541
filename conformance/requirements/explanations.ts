// Explains a requirement to the user whose gateway failed it: why it matters, how it is tested, usual causes
// of a failure, where the standard states it. The texts are data, in explanations.yaml.
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { z } from 'zod'
import { packageFile } from '../../src/shared/package-root.ts'

const explanation = z.strictObject({
  why: z.string().min(1),
  test: z.string().min(1),
  causes: z.string().min(1).describe('What usually makes it fail.'),
  links: z.array(z.httpUrl()).default([]).describe('The public standard, where there is one.'),
})
export type Explanation = z.output<typeof explanation>

/** Returns the explanations by requirement id. */
export const readExplanations = (): Readonly<Record<string, Explanation>> =>
  z
    .record(z.string(), explanation)
    .parse(parse(readFileSync(packageFile('conformance/requirements/explanations.yaml'), 'utf8')))
