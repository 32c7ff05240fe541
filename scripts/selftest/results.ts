// Reads and writes docs/selftest/*.json: the latest result of every gateway that tests the suite, one on each
// line. The pages of the site about these gateways are built from these files.
import { readFileSync, writeFileSync } from 'node:fs'
import { z } from 'zod'

const texts = z.record(z.string(), z.string())
const counts = { date: z.string(), seconds: z.number(), at_once: z.number() }

const mustFailSchema = z.strictObject({
  /** Latest run of all gateways; some may have been repeated since. */
  whole_run: z.strictObject({ ...counts, again_alone: z.number() }),
  gateways: z.record(
    z.string(),
    z.strictObject({
      date: z.string(),
      /** Finding -> the report's sentence. */
      caught: texts,
      /** Check or finding that did not catch the gateway -> the report's sentence. */
      survived: texts,
    }),
  ),
})
export type MustFailResults = z.output<typeof mustFailSchema>

const mustPassSchema = z.strictObject({
  whole_run: z.strictObject({ ...counts, verdicts: z.number() }),
  gateways: z.record(
    z.string(),
    z.strictObject({
      passed: z.number(),
      /** Requirements that warn, as allowed by the gateway's entry. */
      warned: z.array(z.string()),
      /** Requirement -> the suite's reason. */
      failed: texts,
    }),
  ),
})
export type MustPassResults = z.output<typeof mustPassSchema>

const file = (name: string): URL => new URL(`../../docs/selftest/${name}.json`, import.meta.url)
const read = (name: string): unknown => JSON.parse(readFileSync(file(name), 'utf8'))

export const readMustFail = (): MustFailResults => mustFailSchema.parse(read('must-fail'))
export const readMustPass = (): MustPassResults => mustPassSchema.parse(read('must-pass'))

/** Writes each gateway on its own line, so that a diff shows the changes. */
function write(name: string, { whole_run, gateways }: MustFailResults | MustPassResults): void {
  const lines = Object.entries(gateways)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map((entry) => entry.map((each) => JSON.stringify(each)).join(': '))
  writeFileSync(
    file(name),
    `{\n"whole_run": ${JSON.stringify(whole_run)},\n"gateways": {\n${lines.join(',\n')}\n}\n}\n`,
  )
}
export const writeMustFail = (results: MustFailResults): void => write('must-fail', results)
export const writeMustPass = (results: MustPassResults): void => write('must-pass', results)
