// Examines a data directory from outside, while a gateway may be running on it. Changes no file, no lock and
// no write-ahead log.
import { accessSync, constants, readdirSync, type Stats, statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type Finding, fillFindings } from '../../core/findings.ts'
import { type Period, periodOf } from '../../core/period.ts'
import { dollars, spentText } from '../../terminal/numbers.ts'
import type { Spent } from '../store.ts'
import { lockFile, orphanedLog, unusable } from './data-files.ts'
import { SCHEMA_VERSION } from './migrations.ts'
import { databaseFile, openPaths } from './open.ts'
import { type Caps, fillOf } from './retention.ts'
import { SPENT } from './spending.ts'

/** Minimum free space, bytes. A gateway that cannot write refuses every call, so this warns early. */
const MIN_FREE_BYTES = 64 * 2 ** 20

/**
 * Returns all findings in order, and true if a running gateway holds the directory. `caps` and `budgets` come
 * from the configuration; `now` is in milliseconds since the epoch. `isForeign` returns true for the beginning of a
 * stored response or a kept call that the present key did not encrypt.
 */
export function diagnoseData(
  directory: string,
  caps: Caps,
  budgets: readonly Budget[],
  now: number,
  isForeign: (sample: string) => boolean = () => false,
): { findings: Finding[]; running: boolean } {
  let stats: Stats
  try {
    stats = statSync(directory)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
      return { findings: [bad(`data directory ${directory}: ${(error as Error).message}`)], running: false }
    return {
      findings: [note(`data directory ${directory} does not exist yet; the first start makes it`)],
      running: false,
    }
  }
  if (!stats.isDirectory())
    return {
      findings: [bad(`${directory} is not a directory; name another with \`data\` or WAYBILL_DATA`)],
      running: false,
    }
  const running = isLocked(lockFile(directory))
  return {
    running,
    findings: [
      ...accessFindings(directory, stats),
      ok(running ? `a running gateway holds ${directory}` : `no gateway runs on ${directory}`),
      ...fileFindings(directory),
      ...databaseFindings(databaseFile(directory), (db) => [
        ...capFindings(db, caps, running, now),
        ...budgetFindings(db, budgets, now),
        ...sealedFindings(db, isForeign, now),
      ]),
      freeFinding(directory),
    ],
  }
}

/** Reports files that prevent a gateway from starting. */
function fileFindings(directory: string): Finding[] {
  const reasons = [...openPaths(directory).map(unusable), orphanedLog(databaseFile(directory))]
  return reasons.filter((reason) => reason !== null).map((reason) => bad(`${directory}: ${reason}`))
}

/** Reports who may read the directory and who may write to it. */
function accessFindings(directory: string, stats: Stats): Finding[] {
  const findings: Finding[] = []
  const me = process.getuid?.()
  if (me === undefined) return findings // Windows reports neither the owner nor the mode here
  if (stats.uid !== me && me !== 0)
    findings.push(
      bad(`${directory} belongs to user ${stats.uid}, this is user ${me}; run as its owner or chown it`),
    )
  try {
    accessSync(directory, constants.W_OK)
  } catch {
    findings.push(
      bad(
        `${directory} cannot be written to by this user, so calls would be refused; change its owner or mode`,
      ),
    )
  }
  const open = readdirSync(directory, { withFileTypes: true })
    .filter(
      (entry) =>
        entry.name.startsWith('waybill.') && entry.isFile() && isOpen(statSync(join(directory, entry.name))),
    )
    .map(({ name }) => join(directory, name))
    .filter((file) => !file.endsWith('.yaml')) // the configuration may be here too, but contains no secret
  if (isOpen(stats)) findings.push(bad(`${directory} is open to others; run chmod 700 ${directory}`))
  else if (open.length > 0) findings.push(bad(`open to others: ${open.join(', ')}; run chmod 600 on them`))
  if (findings.length === 0) findings.push(ok(`${directory} is private and can be written to`))
  return findings
}

const isOpen = ({ mode }: Stats): boolean => (mode & 0o077) !== 0

/** Returns true if a running gateway holds the lock on the file. Then even reads are refused. */
function isLocked(file: string): boolean {
  if (!exists(file)) return false
  const lock = new DatabaseSync(file, { readOnly: true, timeout: 0 })
  try {
    lock.prepare('PRAGMA schema_version').get()
    return false
  } catch {
    return true
  } finally {
    lock.close()
  }
}

/** Checks the database. `more` examines a sound database with the newest schema. */
function databaseFindings(file: string, more: (db: DatabaseSync) => Finding[]): Finding[] {
  if (!exists(file)) return [note(`${file} does not exist yet; the first start makes it`)]
  try {
    const db = openUnchanged(file)
    try {
      const [{ user_version: version }] = db.prepare('PRAGMA user_version').all() as [
        { user_version: number },
      ]
      if (version > SCHEMA_VERSION)
        return [
          bad(
            `${file} was written by a newer Waybill (schema ${version}, this one knows ${SCHEMA_VERSION}); update Waybill`,
          ),
        ]
      const [{ quick_check: verdict }] = db.prepare('PRAGMA quick_check(1)').all() as [
        { quick_check: string },
      ]
      if (verdict !== 'ok')
        return [
          bad(`${file} is damaged (${verdict}); move it aside or restore a copy; Waybill never replaces it`),
        ]
      const older = version < SCHEMA_VERSION ? `, the next start brings it to ${SCHEMA_VERSION}` : ''
      return [
        ok(
          `${file} is intact: schema ${version}${older}, ${mib(sizeOf(file))}, write-ahead log ${mib(sizeOf(`${file}-wal`))}`,
        ),
        ...(version === SCHEMA_VERSION ? more(db) : []),
      ]
    } finally {
      db.close()
    }
  } catch (error) {
    return [
      bad(
        `${file} cannot be read (${(error as Error).message}); move it aside or restore a copy; Waybill never replaces it`,
      ),
    ]
  }
}

/**
 * Opens a database without leaving a trace. Without a write-ahead log, a read-only connection would create
 * one, so the file is declared immutable. An existing log must be read as well. better-sqlite3 cannot open a
 * file as immutable.
 */
export function openUnchanged(file: string): DatabaseSync {
  if (exists(`${file}-wal`)) return new DatabaseSync(file, { readOnly: true, timeout: 2_000 })
  const url = new URL(`file://${encodeURI(file).replace(/[?#]/g, encodeURIComponent)}`)
  url.searchParams.set('immutable', '1')
  return new DatabaseSync(url, { readOnly: true })
}

function freeFinding(directory: string): Finding {
  const { bavail, bsize } = statfsSync(directory)
  const free = bavail * bsize
  return free < MIN_FREE_BYTES
    ? bad(`only ${mib(free)} are free on the disk of ${directory}; free some space, or calls will be refused`)
    : ok(`${mib(free)} are free on its disk`)
}

const exists = (file: string): boolean => statSync(file, { throwIfNoEntry: false }) !== undefined
const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0
const mib = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(bytes < 2 ** 30 ? 1 : 0)} MiB`

const ok = (text: string): Finding => ({ verdict: 'ok', text })
const note = (text: string): Finding => ({ verdict: 'note', text })
const bad = (text: string): Finding => ({ verdict: 'BAD', text })

/**
 * Compares the record's size with the configured limits. The database must have the newest schema. `now`: ms since the
 * epoch.
 */
function capFindings(db: DatabaseSync, caps: Caps, running: boolean, now: number): Finding[] {
  return fillFindings(fillOf(db, caps, now).fills, running)
}

/** Counts unexpired stored responses and kept calls by their beginning, which names the key that encrypted them. */
const SEALED = `SELECT substr(sealed, 1, 40) AS sample, count(*) AS count FROM kept_responses
  WHERE expires_at > ? GROUP BY substr(sealed, 1, 10)`

/** Reports stored responses and kept calls that the present key cannot decrypt. */
function sealedFindings(db: DatabaseSync, isForeign: (sample: string) => boolean, now: number): Finding[] {
  const groups = db.prepare(SEALED).all(now) as { sample: string; count: number }[]
  const count = groups.reduce((sum, each) => sum + (isForeign(each.sample) ? each.count : 0), 0)
  const text = `${count} stored responses or kept calls cannot be read, because WAYBILL_RESPONSES_KEY is not the key that encrypted them, or is not set; set that key again, or let them expire`
  return count === 0 ? [] : [note(text)]
}

/** A key that has a budget. */
interface Budget {
  readonly keyName: string
  readonly usd: number
  readonly per: Period
}

/** Share of a budget from which a finding warns that the budget will run out. */
const BUDGET_WARNING_SHARE = 0.8

/**
 * Returns the remaining budgets of the keys in the current periods, except budgets per session. Only the gateway knows
 * the reservations for its open calls (`/api/keys/me`, `/metrics`). The database must have the newest schema. `now`: ms
 * since the epoch.
 */
function budgetFindings(db: DatabaseSync, budgets: readonly Budget[], now: number): Finding[] {
  const find = db.prepare(SPENT)
  return budgets.flatMap(({ keyName, usd, per }): Finding[] => {
    const period = periodOf(per, now, null)
    if (period === null) return []
    const spent = find.get(keyName, period) as unknown as Spent | undefined
    const part = (spent?.usd ?? 0) / usd
    const text = `the key "${keyName}" has spent ${spentText({ spent_usd: spent?.usd ?? 0, spent_is_minimum: !!spent?.unknownAttempts })} of its ${dollars(usd)} in ${period.replace(/^week/, 'the week of')} (UTC)`
    const estimated = spent?.estimatedUsd ? `, ${dollars(spent.estimatedUsd)} of it estimated` : ''
    if (part < BUDGET_WARNING_SHARE) return [{ verdict: 'ok', text: text + estimated }]
    const next =
      part >= 1
        ? `its calls are refused until the ${per} ends; to allow them, raise its budget`
        : 'its calls are refused when the budget is spent'
    return [{ verdict: 'note', text: `${text}${estimated}; ${next}` }]
  })
}
