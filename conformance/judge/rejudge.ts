// Computes verdicts from the stored files of a run, with the same function as in the run.
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { z } from 'zod'
import { readBounded } from '../../src/shared/bounded-file.ts'
import { fileReason } from '../../src/terminal/file-error.ts'
import { type Evidence, evidenceSchema } from '../evidence/evidence.ts'
import { readRequirements } from '../requirements/requirements.ts'
import { parseStored } from './earlier-names.ts'
import { judge, type Results, type RunFile, runSchema } from './judge.ts'
import { isSubmission, readPacked } from './submission.ts'

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
  const run = read(join(directory, 'run.json'), runSchema)
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
  return readdirSync(folder)
    .sort()
    .map((file) => read(join(folder, file), evidenceSchema))
}

/** Maximum bytes of a stored file. */
const MAX_BYTES = 2 ** 28

function read<Schema extends z.ZodType>(file: string, schema: Schema): z.output<Schema> {
  let json: unknown
  try {
    json = parseStored(readBounded(file, MAX_BYTES).toString('utf8'))
  } catch (cause) {
    throw new EvidenceError(
      `${file}: ${fileReason(cause)}; name a directory that \`waybill conform --report\` wrote`,
      { cause },
    )
  }
  const parsed = schema.safeParse(json)
  if (parsed.success) return parsed.data
  const { path, message } = parsed.error.issues[0]!
  throw new EvidenceError(`${file}: ${path.join('.')}: ${message}`)
}
