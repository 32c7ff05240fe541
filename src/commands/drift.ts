// `waybill recordings drift` and `refresh`: check whether providers still answer in the shape of the
// recordings, and replace recordings with newer answers.
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Recording, readRecordings } from '../../mocks/recording/format.ts'
import { writeAs } from '../../mocks/recording/make.ts'
import { hasMoved, kindOfRecording, movedIn, wordMoved } from '../../mocks/recording/moved.ts'
import { loadConfig } from '../config/load.ts'
import { dollars } from '../terminal/numbers.ts'
import { againFolder, askAgain, type Plan, planAgain } from './ask-again.ts'
import { print } from './output.ts'
import { UsageError } from './usage-error.ts'

interface DriftOptions {
  readonly dir: string
  /** Sends the calls; without this option they are only announced. */
  readonly live?: boolean
  /** Folder of newer recordings to compare with. If it is given, no calls are made. */
  readonly with?: string
  /** Maximum cost of the calls, US dollars. */
  readonly limit: number
  readonly config: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Prints the changes in each recording. Throws if anything changed, or if a call failed. */
export async function drift({ dir, live, with: other, limit, config, env }: DriftOptions): Promise<void> {
  if (live && other !== undefined) throw new UsageError('--live asks, --with compares; name one of them')
  const known = readRecordings(dir)
  if (known.length === 0) throw new Error(`${dir} holds no recordings; name the folder they are in`)
  if (other !== undefined) {
    const newer = readRecordings(other)
    conclude(known.map((one) => ({ recording: one, newer: newer.filter((two) => isAlike(one, two)) })))
    return
  }
  const loaded = loadConfig(config, { env, replay: live !== true })
  const plan = planAgain(known, loaded)
  announce(plan, limit)
  if (plan.asked.length === 0)
    throw new Error(
      `none of the ${known.length} recordings can be asked again; to compare them with newer ones of the same program, record those, then: waybill recordings drift ${dir} --with NEWER`,
    )
  if (!live) {
    print('Nothing was sent. Repeat with --live to ask.')
    return
  }
  const { fresh, failed, usd } = await askAgain(dir, plan, loaded, limit, (name) => print(`asking  ${name}`))
  print(`They cost ${usd === null ? 'an unknown amount' : dollars(usd)}. The gateway's record has each call.`)
  for (const { name, reason } of failed) print(`failed  ${name}: ${reason}`)
  const pairs = plan.asked.flatMap(({ recording }) => {
    const newer = fresh.find(({ name }) => name === recording.name)
    return newer ? [{ recording, newer: [newer] }] : []
  })
  conclude(pairs, failed.length, dir)
}

/** Prints the planned calls with their cost, and the skipped recordings by reason. */
function announce({ asked, left }: Plan, limit: number): void {
  for (const [reason, those] of Map.groupBy(left, ({ reason }) => reason))
    print(`not asked  ${those.length === 1 ? those[0]!.name : `${those.length} recordings`}: ${reason}`)
  if (asked.length === 0) return
  const known = asked.flatMap(({ usd }) => (usd === null ? [] : [usd]))
  const unknown = asked.length - known.length
  const sum = known.reduce((all, usd) => all + usd, 0)
  print(
    `${asked.length} calls to ${[...new Set(asked.map(({ recording }) => recording.provider))].join(', ')}. With the tokens that were recorded they cost ${dollars(sum)} at today's prices${unknown > 0 ? `, without ${unknown} whose cost is unknown` : ''}; the limit is ${dollars(limit)}.`,
  )
}

const isAlike = (one: Recording, two: Recording): boolean =>
  one.provider === two.provider && one.endpoint === two.endpoint && one.request.model === two.request.model

/** Prints a result for each recording, and a total. Throws if anything changed or failed. */
function conclude(
  pairs: readonly { readonly recording: Recording; readonly newer: readonly Recording[] }[],
  failed = 0,
  dir?: string,
): void {
  const counts = { same: 0, moved: 0, other: 0 }
  for (const { recording, newer } of pairs) {
    const { name } = recording
    const moved = movedIn(recording, newer)
    if (moved === null) {
      const kinds = [...new Set(newer.map(kindOfRecording))].join(', ')
      const isError = ({ response }: Recording) => response.status >= 400
      // A model may answer with a tool call instead of text. A new error is a change.
      const kind = newer.some(isError) && !isError(recording) ? 'moved' : 'other'
      counts[kind]++
      print(
        `${kind}   ${name}: ${kinds === '' ? 'nothing newer to compare with' : `now ${kinds}, before ${kindOfRecording(recording)}`}`,
      )
    } else if (hasMoved(moved)) {
      counts.moved++
      print(`moved   ${name}`)
      for (const line of wordMoved(moved)) print(`        ${line}`)
    } else counts.same++
  }
  const { same, moved, other } = counts
  const sum = `${same} have the same shape, ${moved} moved, ${other} of another kind, ${failed} failed`
  if (dir !== undefined && moved + other > 0)
    print(`Look at ${againFolder(dir)}, then take it up: waybill recordings refresh ${dir}`)
  if (moved + failed > 0) throw new Error(sum)
  print(sum)
}

/**
 * Replaces recorded answers with the newer ones from `drift --live`. Throws if one of them cannot be
 * replaced.
 */
export function refresh({ dir, only }: { readonly dir: string; readonly only?: readonly string[] }): void {
  const again = againFolder(dir)
  const known = readRecordings(dir)
  const newer = existsSync(again) ? readRecordings(again) : []
  if (newer.length === 0)
    throw new Error(
      `there are no newer answers in ${again}; get them: waybill recordings drift ${dir} --live`,
    )
  const strange = only?.find((name) => !newer.some((one) => one.name === name))
  if (strange !== undefined)
    throw new UsageError(
      `--only: there is no newer answer of ${strange}; there are: ${newer.map(({ name }) => name).join(', ')}`,
    )
  let kept = 0
  for (const answer of newer) {
    if (only && !only.includes(answer.name)) continue
    const old = known.find(({ name }) => name === answer.name)
    const reason = old ? reasonToKeep(old, answer, known) : 'its recording is gone'
    if (old && reason === null) {
      writeAs(dir, old, answer)
      for (const file of [`${old.name}.json`, join(old.name, '..', answer.response.body)])
        rmSync(join(again, file), { force: true })
    } else kept++
    print(reason === null ? `taken up  ${answer.name}` : `kept      ${answer.name}: ${reason}`)
  }
  if (kept > 0) throw new Error(`${kept} recordings stay as they are, for the reasons above`)
}

/** Returns the reason why a newer answer cannot replace the old one, or null. */
function reasonToKeep(old: Recording, answer: Recording, known: readonly Recording[]): string | null {
  if (answer.response.status >= 400 && old.response.status < 400)
    return `the newer answer is an error, status ${answer.response.status}`
  const said = old.request.said?.parts.map(({ digest }) => digest)
  const later = known.find(({ request }) => {
    const parts = request.said?.parts.map(({ digest }) => digest)
    return said && parts && parts.length > said.length && said.every((digest, i) => digest === parts[i])
  })
  return later
    ? `${later.name} continues from the old answer; record the conversation again with \`waybill record\``
    : null
}
