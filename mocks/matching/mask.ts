// Masks parts of a text that differ from run to run although the content is the same: today's date, ids,
// directories, local ports. Credentials are blanked as in stored answers, because a client sends them back as it
// received them. Pure; the caller passes the time. Other dates stay, because they are content.

import { replaceCredentials } from '../redaction/leaks.ts'
import { blank, ID_PREFIXES } from '../redaction/placeholders.ts'

/** Maximum days between today and a date that counts as today, because of time zones. */
const NEAR_DAYS = 1
const DAY_MS = 86_400_000

const MONTHS =
  'Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?'
const WEEKDAY = '(?:(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?,? )?'
const CLOCK = '\\d{1,2}:\\d\\d(?::\\d\\d(?:[.,]\\d{1,9})?)?(?: ?[AaPp]\\.?[Mm]\\.?)?'
const ZONE = '(?: ?(?:Z|UTC|GMT|[A-Z]{3,4})?(?:[+-]\\d\\d:?\\d\\d)?(?: \\([A-Za-z ]{1,40}\\))?)?'
const TIME = `(?:(?:T|,? (?:at )?)${CLOCK}${ZONE})?`

/** Usual formats of dates, each with the groups year, month, day, and an optional time. */
const DATES: readonly RegExp[] = [
  new RegExp(`\\b(?<y>\\d{4})[-/.](?<m>\\d\\d)[-/.](?<d>\\d\\d)(?!\\d)${TIME}`, 'g'),
  new RegExp(`\\b(?<d>\\d{1,2})[/.](?<m>\\d{1,2})[/.](?<y>\\d{4})\\b${TIME}`, 'g'),
  new RegExp(
    `\\b${WEEKDAY}(?<m>${MONTHS})\\.? (?<d>\\d{1,2})(?:st|nd|rd|th)?(?: ${CLOCK}${ZONE})?,? (?<y>\\d{4})\\b${TIME}`,
    'gi',
  ),
  new RegExp(
    `\\b${WEEKDAY}(?<d>\\d{1,2})(?:st|nd|rd|th)?\\.? (?<m>${MONTHS})\\.?,? (?<y>\\d{4})\\b${TIME}`,
    'gi',
  ),
]
const EPOCH = /\b1\d{9}(?:\d{3})?\b/g

/** Machine-made ids: their placeholders, UUIDs, ids with a provider's prefix, hashes, long tokens of mixed characters. */
const IDS: readonly RegExp[] = [
  /\bREDACTED_\d+\b/g,
  /\b[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}\b/gi,
  new RegExp(`\\b(?:${ID_PREFIXES})[-_](?=[\\w-]{0,60}\\d)[\\w-]{6,}`, 'g'),
  /\b(?=[a-f]{0,30}\d)[\da-f]{16,}\b/gi,
  /\b(?=[\w-]{0,60}\d)(?=[\w-]{0,60}[A-Z])(?=[\w-]{0,60}[a-z])[\w-]{24,200}\b/g,
]

/** Absolute paths of two or more segments, on Unix and Windows. */
const PATHS =
  /(?<!<folder>)(?<![\w.:/~<\\-])(?:file:\/\/)?(?:~|\/[\w.@+-]+)(?:\/[\w.@+-]+)+\/?|\b[A-Za-z]:(?:\\{1,2}[\w.@+ -]+)+/g
/** Folders that contain one folder for each user or each run. */
const SHARED =
  /^(?:\/private)?(?:\/(?:home|Users|tmp|var\/tmp|workspaces?)|\/var\/folders\/.*|[A-Za-z]:\/Users)$/

/** Measured times in the results of tools: `duration_ms: 855`, `Wall time: 0.05 seconds`, `took 12 ms`. */
const DURATION =
  /\b((?:duration|elapsed|wall[ _]time|took|finished|completed|passed|done)\b[\w"' ]{0,12}?(?:[:=]|\bin\b)? ?)\d+(?:\.\d+)?(?= ?(?:ms|s|secs?|seconds?)\b)|\b((?:duration|elapsed)_m?s["']?[:=] ?)\d+(?:\.\d+)?/gi

/** Measured times in tags, in which agents pass on the report of a subagent: `<duration_ms>317</duration_ms>`. */
const TAGGED_DURATION = /(<((?:duration|elapsed)_m?s)>)\d+(?:\.\d+)?(?=<\/\2>)/g

/** Ids that a tool labels as ids in its result: `Chunk ID: 82b391`. */
const NAMED_ID =
  /\b((?:chunk|process|session|task|job|run|request|trace|shell|container)[ _-]?id["']? ?[:=] ?["']?)[\w-]{3,}/gi

/** Size that a tool states in its result. The size varies with the length of paths. */
const SIZE = /\b((?:token|byte|character)s?[ _]count["']?[:=] ?)\d+/gi

/**
 * Start of a line of `ls -l`: mode, links, owner, group, size, time. Parts that differ between machines are
 * masked.
 */
const FILE_LINE = new RegExp(
  `^([-dlbcps][rwxsStT-]{9})[.+@]? +\\d+ +[\\w.-]+ +[\\w.-]+ +(\\d+) +(?:${MONTHS}) +\\d{1,2} +(?:\\d\\d:\\d\\d|\\d{4})\\b|^total \\d+$`,
  'gm',
)
const maskedFile = (_line: string, mode: string | undefined, size: string): string =>
  mode === undefined ? 'total <size>' : `${mode} ${mode.startsWith('-') ? size : '<size>'} <time>`

/** The line in which Claude Code tells its version, and often a digest of the request, for billing. */
const BILLING = /^(x-anthropic-billing-header: ).*$/gm

const PORT = /\b(localhost|127\.0\.0\.1|\[::1\]):\d{2,5}\b/g

/**
 * Creates the mask of one request: the same id always gets the same number. Measured times, file lists and
 * labelled ids are masked only in tool results; elsewhere they are content. `own` are the user's patterns,
 * `folders` the program's working folder and the user's home.
 */
export function createVolatileMask(
  now: number,
  own: readonly RegExp[] = [],
  folders: readonly string[] = [],
): (text: string, isResult?: boolean) => string {
  const here = folders.filter((folder) => folder.length > 1).map(patternOf)
  const ids = new Map<string, number>()
  const numbered = (id: string): string => {
    if (!ids.has(id)) ids.set(id, ids.size + 1)
    return `<id ${ids.get(id)}>`
  }
  return (text, isResult = false) => {
    const open = replaceCredentials(text, blank)
    let masked = own.reduce((rest, pattern) => rest.replace(pattern, '<masked>'), open)
    for (const folder of here) masked = masked.replace(folder, '<folder>')
    for (const pattern of DATES)
      masked = masked.replace(pattern, (...found) => (isNow(found.at(-1), now) ? '<date>' : found[0]))
    masked = withoutFolders(masked).replace(EPOCH, (digits) => {
      const ms = digits.length === 10 ? Number(digits) * 1000 : Number(digits)
      return Math.abs(ms - now) < 2 * DAY_MS ? '<time>' : digits
    })
    masked = masked.replace(BILLING, '$1<billing>')
    for (const pattern of IDS) masked = masked.replace(pattern, numbered)
    masked = masked.replace(TAGGED_DURATION, '$1<duration>')
    if (isResult)
      masked = masked
        .replace(DURATION, (_, before, named) => `${before ?? named}<duration>`)
        .replace(FILE_LINE, maskedFile)
        .replace(NAMED_ID, '$1<id>')
        .replace(SIZE, '$1<size>')
    return masked.replace(PORT, '$1:<port>')
  }
}

/** Returns a pattern for a folder's path, and for the id that agents derive from it: `-home-me-project`. */
function patternOf(folder: string): RegExp {
  return new RegExp(
    `(?<![\\w/.-])${quoted(folder)}(?![\\w.-]|/\\w)/?|(?<![\\w-])${dashed(folder)}(?![\\w-])`,
    'g',
  )
}

const quoted = (text: string): string => text.replace(/[$()*+.?[\\\]^{|}]/g, '\\$&')
const dashed = (folder: string): string => folder.replace(/[^A-Za-z0-9]/g, '-')

/** Maximum length of a line in which a folder is looked for. */
const MAX_LINE = 1_000

/**
 * Finds the folders of an earlier session. Compares its texts (`before`) with those of now, line by line: a line that
 * differs only in one of `folders` names the earlier one. A folder without such a line stays.
 */
export function foldersBefore(
  before: readonly string[],
  now: readonly string[],
  folders: readonly string[],
): string[] {
  let texts = now
  return folders.map((folder) => {
    const found = texts.flatMap((text, at) => folderBefore(before[at] ?? '', text, folder) ?? [])[0] ?? folder
    // The next folder may be in a line with this one.
    const there = (name: string) => (name === folder ? found : dashed(found))
    texts = texts.map((text) => text.replaceAll(folder, there).replaceAll(dashed(folder), there))
    return found
  })
}

function folderBefore(before: string, now: string, folder: string): string | null {
  if (folder.length < 2 || !now.includes(folder)) return null
  for (const line of now.split('\n')) {
    const [first, ...others] = line.split(folder).map(quoted)
    if (others.length === 0 || line.length > MAX_LINE || line.trim() === folder) continue
    const pattern = new RegExp(`^${first}(/[^"\\n]{1,${MAX_LINE}}?)${others.join('\\1')}$`, 'm')
    const found = pattern.exec(before)?.[1]
    if (found !== undefined && found !== folder) return found
  }
  return null
}

function isNow({ y, m, d }: Record<string, string>, now: number): boolean {
  const month = /^\d/.test(m!) ? Number(m) : 1 + MONTH_NAMES.indexOf(m!.slice(0, 3).toLowerCase())
  const today = Math.floor(now / DAY_MS)
  const isNear = (month: number, day: number) =>
    Math.abs(Date.UTC(Number(y), month - 1, day) / DAY_MS - today) <= NEAR_DAYS
  return isNear(month, Number(d)) || (/^\d/.test(m!) && isNear(Number(d), month))
}

const MONTH_NAMES = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']

/**
 * Keeps only the last segment of an absolute path. If the text has other paths inside a folder, removes the
 * folder entirely.
 */
function withoutFolders(text: string): string {
  const plain = (path: string) =>
    path
      .replace(/^file:\/\//, '')
      .replace(/\\+/g, '/')
      .replace(/\/$/, '')
  const folders = new Set<string>()
  for (const [path] of text.matchAll(PATHS)) {
    const whole = plain(path)
    for (let at = whole.lastIndexOf('/'); at > 0; at = whole.lastIndexOf('/', at - 1))
      folders.add(whole.slice(0, at))
  }
  return text.replace(PATHS, (path) => {
    const whole = plain(path)
    const at = whole.lastIndexOf('/')
    const isFolder = folders.has(whole) || SHARED.test(whole.slice(0, at))
    return isFolder ? '<folder>' : `<folder>/${whole.slice(at + 1)}`
  })
}

/** Unmasked texts that will probably differ in the next run: times of day, other dates, long numbers. */
const SUSPECTS = new RegExp(
  [
    `\\b${CLOCK}\\b`,
    ...DATES.map(({ source }) => source.replaceAll(/\(\?<[ymd]>/g, '(?:')),
    '\\b\\d{6,}\\b',
  ].join('|'),
  'i',
)

/** Returns the first part of a masked text that may be volatile, or null. */
export const suspectIn = (masked: string): string | null => SUSPECTS.exec(masked)?.[0].trim() ?? null
