// PURE-05: Reads write nothing: while there are only reads, `data_version` and the WAL do not change.
import { isDeepStrictEqual } from 'node:util'
import { ref } from '../dialects/lookup.ts'
import { step } from '../evidence/step.ts'
import { listed } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'
import type { CheckContext } from '../runner/context.ts'
import { readAll } from './log/parts.ts'

const steps = {
  call: step('call'),
  read: step('read'),
}

/** Returns size and time of all files of a gateway, except SQLite's shared memory, which has no content. */
async function factsOf(session: CheckContext): Promise<Record<string, string>> {
  const files = [...(await session.running.files!.list())].filter(([name]) => !name.endsWith('-shm'))
  return Object.fromEntries(
    files.map(([name, { bytes, changedAt }]) => [name, `${bytes} bytes, ${changedAt}`]),
  )
}

/** Time to wait for artifacts, ms: an artifact is written within five seconds of its call's end. */
const ARTIFACTS_WAIT_MS = 6_000

/** Returns the files once earlier calls are written and no file has changed for a second. */
async function settledFiles(session: CheckContext): Promise<Record<string, string>> {
  await session.wait(ARTIFACTS_WAIT_MS - 1_000)
  let files = await factsOf(session)
  for (let tries = 0; tries < 10; tries++) {
    await session.wait(1_000)
    const before = files
    files = await factsOf(session)
    if (isDeepStrictEqual(files, before)) break
  }
  return files
}

export const readsWriteNothing = {
  id: 'PURE-05',
  timeout: 60_000,
  needs: ['files', 'read_paths'],
  async exercise(session) {
    await session.chat(steps.call)
    session.note('before', await settledFiles(session))
    for (let times = 0; times < 3; times++)
      for (const path of session.target.capabilities.read_paths) await readAll(session, steps.read, path)
    await session.wait(500)
    session.note('after', await factsOf(session))
  },
  judge({ evidence }) {
    const { before, after } = evidence.facts as Record<string, Record<string, string>>
    const changed = Object.keys({ ...before, ...after }).filter((name) => before![name] !== after![name])
    const reads = steps.read.in(evidence)
    return [
      finding(
        'files-stay-as-they-were',
        reads.length > 0 && Object.keys(before!).length > 1 && changed.length === 0,
        `files that ${reads.length} reads changed, of ${Object.keys(before!).length}`,
        { expected: 'none, of at least two', actual: listed(changed) },
        reads.map(ref),
      ),
    ]
  },
} satisfies Check
