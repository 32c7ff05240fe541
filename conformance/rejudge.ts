// Verdicts from what a run left behind: the same function as in the run, over files.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { z } from 'zod'
import { type Evidence, evidenceSchema } from './evidence.ts'
import { judge, type Results, type RunFile, runSchema } from './judge.ts'
import { readRequirements } from './requirements.ts'

/** A directory that holds no run, or one that cannot be read; one sentence for a person. */
export class EvidenceError extends Error {
  override readonly name = 'EvidenceError'
}

/** A run with all its evidence, as it is in files. */
export interface Kept {
  readonly run: RunFile
  readonly evidence: ReadonlyMap<string, Evidence>
  readonly results: Results
}

/** Judges again what `conform` wrote into a directory. Throws EvidenceError. */
export function rejudge(directory: string): Kept {
  const run = read(join(directory, 'run.json'), runSchema)
  const folder = join(directory, 'evidence')
  if (!existsSync(folder)) throw new EvidenceError(`${directory}: the run left no evidence there`)
  const evidence = new Map<string, Evidence>()
  for (const file of readdirSync(folder).sort()) {
    const each = read(join(folder, file), evidenceSchema)
    // What an earlier run left in the same directory proves nothing about this one.
    if (each.started_at >= run.started_at) evidence.set(each.check, each)
  }
  return { run, evidence, results: judge(run, evidence, readRequirements()) }
}

function read<Schema extends z.ZodType>(file: string, schema: Schema): z.output<Schema> {
  let json: unknown
  try {
    json = JSON.parse(readFileSync(file, 'utf8'))
  } catch (cause) {
    throw new EvidenceError(
      `${file}: ${(cause as Error).message}; name a directory that \`waybill conform --report\` wrote`,
      { cause },
    )
  }
  const parsed = schema.safeParse(json)
  if (parsed.success) return parsed.data
  const { path, message } = parsed.error.issues[0]!
  throw new EvidenceError(`${file}: ${path.join('.')}: ${message}`)
}
