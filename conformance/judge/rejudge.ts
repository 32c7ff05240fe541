// Computes verdicts from the stored files of a run, with the same function as in the run.
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { z } from 'zod'
import { readInside } from '../../src/shared/bounded.ts'
import { fileReason } from '../../src/terminal/file-error.ts'
import { readRequirements } from '../checks/requirements.ts'
import { type Evidence, evidenceSchema } from '../evidence/evidence.ts'
import { judge, type Results, type RunFile, runSchema } from './judge.ts'
import { isSubmission, parseStored, readPacked } from './submission.ts'

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
