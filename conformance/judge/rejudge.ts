// Computes verdicts from the stored files of a run, with the same function as in the run: from the folder that a run
// wrote, or from the published run of a project, which is a folder with the output, the evidence in one compressed
// file, and a small file about the project. Only the computed result is trusted. An invented transcript cannot be
// distinguished from a real one.
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { parse } from 'yaml'
import { z } from 'zod'
import { readInside } from '../../src/shared/bounded.ts'
import { escaped } from '../../src/terminal/clean.ts'
import { fileReason } from '../../src/terminal/file-error.ts'
import { readRequirements } from '../checks/requirements.ts'
import { type Evidence, evidenceSchema } from '../evidence/evidence.ts'
import { judge, type Results, type RunFile, runSchema, type Verdict } from './judge.ts'
import { jsonFile } from './text.ts'

/** Error about a directory without a readable run; one sentence. */
export class EvidenceError extends Error {
  override readonly name = 'EvidenceError'
}

/** Stored run with all its evidence. */
export interface KeptRun {
  readonly run: RunFile
  readonly evidence: ReadonlyMap<string, Evidence>
  readonly results: Results
}

/** Judges the files that `conform` wrote into a directory. Throws EvidenceError. */
export function rejudge(directory: string): KeptRun {
  const run = read(directory, 'run.json', MAX_FILE_BYTES, runSchema).value
  const evidence = new Map<string, Evidence>()
  for (const each of isSubmission(directory) ? readPacked(directory) : evidenceIn(directory)) {
    // Evidence from an earlier run in the same directory proves nothing about this run.
    if (each.started_at >= run.started_at) evidence.set(each.check, each)
  }
  return { run, evidence, results: judge(run, evidence, readRequirements()) }
}

function evidenceIn(directory: string): Evidence[] {
  const folder = join(directory, 'evidence')
  if (!existsSync(folder)) throw new EvidenceError(`${directory}: the run left no evidence there`)
  let left = MAX_RUN_BYTES
  return readdirSync(folder)
    .sort()
    .map((file) => {
      const { value, bytes } = read(
        directory,
        join('evidence', file),
        Math.min(MAX_FILE_BYTES, left),
        evidenceSchema,
      )
      left -= bytes
      return value
    })
}

/** Maximum bytes of a stored file, and of the evidence of a run. The parsed evidence takes several times as much. */
const MAX_FILE_BYTES = 64 * 2 ** 20
const MAX_RUN_BYTES = 160 * 2 ** 20

function read<Schema extends z.ZodType>(
  directory: string,
  name: string,
  most: number,
  schema: Schema,
): { readonly value: z.output<Schema>; readonly bytes: number } {
  const file = join(directory, name)
  let json: unknown
  let bytes: number
  try {
    const content = readInside(directory, name, most)
    bytes = content.length
    json = parseStored(content.toString('utf8'))
  } catch (cause) {
    throw new EvidenceError(
      `${file}: ${fileReason(cause)}; name a directory that \`waybill conform --report\` wrote`,
      { cause },
    )
  }
  const parsed = schema.safeParse(json)
  if (parsed.success) return { value: parsed.data, bytes }
  const { path, message } = parsed.error.issues[0]!
  throw new EvidenceError(`${file}: ${path.join('.')}: ${message}`)
}

export const SUBMISSION = 'submission.yaml'
export const EVIDENCE = 'evidence.jsonl.gz'
/** Maximum bytes of the evidence, compressed and not. */
const MAX_EVIDENCE_BYTES = 4 * 2 ** 20
const MAX_UNPACKED_BYTES = 160 * 2 ** 20
const RESULTS = 'results.json'
const MAX_RESULTS_BYTES = 2 ** 22

const schema = z.strictObject({
  project: z.string().min(1).describe('Name of the project for readers.'),
  url: z.httpUrl().describe('A page about the project.'),
  version: z
    .string()
    .regex(/^\d[\w.+-]*$/, 'expected a released version such as 1.4.2, not a branch')
    .describe('The tested version: a release, so that others can test the same version.'),
  contact: z.string().min(3).describe('A contact: an address, or a link to a person or a tracker.'),
  by: z
    .enum(['its maintainers', 'us'])
    .default('its maintainers')
    .describe('Author of the run: `us` for the maintainers of the suite.'),
  reproduce: z.string().min(20).describe('The steps to repeat the run, in Markdown.'),
  exceptions: z
    .array(
      z.strictObject({
        id: z.string(),
        reason: z.string().min(10),
        expires: z.iso.date(),
      }),
    )
    .default([])
    .describe('Known failures that the authors are working on, each with a last day.'),
})
export type About = z.output<typeof schema>

/** Error about a submission that is refused, with a line for each reason. */
export class SubmissionError extends Error {
  override readonly name = 'SubmissionError'
}

export const isSubmission = (directory: string): boolean =>
  [SUBMISSION, EVIDENCE].some((file) => existsSync(join(directory, file)))

/** Reads the file about the project. Throws SubmissionError. */
export function readAbout(directory: string): About {
  const file = join(directory, SUBMISSION)
  let raw: unknown
  try {
    raw = parse(readInside(directory, SUBMISSION, 2 ** 16).toString('utf8'))
  } catch (cause) {
    throw new SubmissionError(`${file}: ${fileReason(cause)}`, { cause })
  }
  const { data, error } = schema.safeParse(raw)
  if (data) return data
  throw new SubmissionError(
    error.issues.map(({ path, message }) => `${file}: ${path.join('.')}: ${message}`).join('\n'),
  )
}

/** Reads the evidence of a submission. Throws SubmissionError. */
function readPacked(directory: string): Evidence[] {
  const file = join(directory, EVIDENCE)
  let content: Buffer
  try {
    const packed = readInside(directory, EVIDENCE, MAX_EVIDENCE_BYTES)
    content = gunzipSync(packed, { maxOutputLength: MAX_UNPACKED_BYTES })
  } catch (cause) {
    throw new SubmissionError(`${file}: ${fileReason(cause)}`, { cause })
  }
  const evidence: Evidence[] = []
  // One line at a time, because the whole text would take as much memory again.
  for (let at = 0; at < content.length; ) {
    const end = content.indexOf('\n', at)
    const next = end < 0 ? content.length : end
    evidence.push(readLine(content.toString('utf8', at, next), `${file}: line ${evidence.length + 1}`))
    at = next + 1
  }
  return evidence
}

/** Parses a stored file of a run. Throws an error that quotes nothing of the file. */
function parseStored(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Error('is not JSON') // the parser's message quotes the text
  }
}

function readLine(line: string, place: string): Evidence {
  let json: unknown
  try {
    json = parseStored(line)
  } catch (cause) {
    throw new SubmissionError(`${place}: ${fileReason(cause)}`, { cause })
  }
  const { data, error } = evidenceSchema.safeParse(json)
  if (data) return data
  throw new SubmissionError(`${place}: ${error.issues[0]!.message}`)
}

/** Verdicts as a submission claims them. */
const claims = z.object({
  conclusion: z.string(),
  verdicts: z.array(z.object({ id: z.string(), outcome: z.string() })),
})

function readClaims(directory: string): z.output<typeof claims> {
  const file = join(directory, RESULTS)
  let json: unknown
  try {
    json = parseStored(readInside(directory, RESULTS, MAX_RESULTS_BYTES).toString('utf8'))
  } catch (cause) {
    throw new SubmissionError(`${file}: ${fileReason(cause)}`, { cause })
  }
  const { data, error } = claims.safeParse(json)
  if (data) return data
  const { path, message } = error.issues[0]!
  throw new SubmissionError(`${file}: ${path.join('.')}: ${message}`)
}

/** Returns the reasons to refuse a submission, given the result of its evidence; empty if it is accepted. */
export function problemsOf(directory: string, judged: Results, today: string): string[] {
  const about = readAbout(directory)
  const claimed = readClaims(directory)
  const set = basename(dirname(directory))
  const verdicts = new Map<string, string>(claimed.verdicts.map(({ id, outcome }) => [id, outcome]))
  // A check that was added later was not part of the run, even if the run contains its evidence.
  const isNewer = ({ id, scored }: Verdict) => !verdicts.has(id) && !scored
  const changed = judged.verdicts.filter(
    (verdict) => verdicts.get(verdict.id) !== verdict.outcome && !isNewer(verdict),
  )
  const extra = claimed.verdicts.filter(({ id }) => !judged.verdicts.some((each) => each.id === id))
  const failed = new Set(judged.verdicts.filter(({ outcome }) => outcome === 'fail').map(({ id }) => id))
  const tested = judged.target.version ?? null
  const left = judged.verdicts.filter(({ scored, outcome }) => scored && outcome === 'disabled').length
  const said = (id: string) => escaped(String(verdicts.get(id) ?? 'nothing'))
  return [
    ...changed.map(
      ({ id, outcome }) => `${id}: results.json says ${said(id)}, and its evidence gives ${outcome}`,
    ),
    ...extra.map(
      ({ id }) => `${escaped(id)}: results.json has a verdict that no requirement of the set asks for`,
    ),
    ...(claimed.conclusion === judged.conclusion
      ? []
      : [
          `the conclusion in results.json is ${escaped(claimed.conclusion)}, and the evidence gives ${judged.conclusion}`,
        ]),
    ...(['project', 'url', 'contact'] as const)
      .filter((field) => about[field] === UNFILLED[field])
      .map((field) => `${SUBMISSION}: ${field} is not filled in; docs/submitting.md explains each field`),
    ...(tested === null || tested === about.version
      ? []
      : [`${SUBMISSION} is about version ${about.version}, and the run tested ${escaped(tested)}`]),
    ...(judged.set === set ? [] : [`the run is of set ${judged.set}, and the folder is of ${set}`]),
    ...(judged.conclusion === 'error' ? [`the run did not finish: ${judged.reason}`] : []),
    ...(left === 0 && judged.conclusion !== 'partial'
      ? []
      : [`the run is partial: repeat it without --only and --quick`]),
    ...about.exceptions.flatMap(({ id, expires }) => [
      ...(expires < today ? [`the exception for ${id} ended on ${expires}`] : []),
      ...(failed.has(id) ? [] : [`the exception for ${id} is stale: it does not fail`]),
    ]),
  ]
}

/** Values of the template, which a project must replace. */
const UNFILLED = {
  project: 'NAME OF THE PROJECT',
  url: 'https://example.com',
  contact: 'SOMEBODY TO ASK',
}

const template = ({
  target,
  profile,
}: RunFile) => `# About this submission; docs/submitting.md explains each field.
project: ${JSON.stringify(target.name)}
url: ${target.homepage ?? UNFILLED.url}
version: ${JSON.stringify(target.version ?? '0.0.0')} # a release, not a branch
contact: ${UNFILLED.contact}
reproduce: |
  1. Install it: …
  2. \`waybill conform my-gateway.yaml --profile ${profile} --report report\`, with the target file at …
exceptions: []
`

/**
 * Writes a run as a submission, with a template of the file about the project unless the file exists. Returns
 * true if it wrote the template.
 */
export function pack(
  directory: string,
  { results, run, evidence }: { results: Results; run: RunFile; evidence: ReadonlyMap<string, Evidence> },
): boolean {
  mkdirSync(directory, { recursive: true })
  const lines = [...evidence.values()].map((each) => JSON.stringify(each)).join('\n')
  const bytes = gzipSync(`${lines}\n`, { level: 9 })
  if (bytes.length > MAX_EVIDENCE_BYTES)
    throw new SubmissionError(
      `the evidence has ${bytes.length} bytes, and a submission at most ${MAX_EVIDENCE_BYTES}; run fewer profiles or dialects at a time`,
    )
  writeFileSync(join(directory, EVIDENCE), bytes)
  writeFileSync(join(directory, 'run.json'), jsonFile(run))
  // Leaves out the findings, which follow from the evidence.
  const verdicts = results.verdicts.map((verdict) => ({ ...verdict, findings: [] }))
  writeFileSync(join(directory, 'results.json'), jsonFile({ ...results, verdicts }))
  const about = join(directory, SUBMISSION)
  if (existsSync(about)) return false
  writeFileSync(about, template(run))
  return true
}
