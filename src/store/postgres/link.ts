// One connection to PostgreSQL that reconnects by itself. Runs one statement after the other. Each has a
// timeout, after which the connection is given up, because a frozen server sends nothing at all. Works
// through pgbouncer in transaction mode: no named statement, no session state. No message contains the
// address.
import pg from 'pg'
import { after, ignoreErrors, on } from '../../shared/boundary.ts'
import { readBounded } from '../../shared/bounded.ts'
import { sleep, type Timer } from '../../shared/clock.ts'
import type { SharedLogOptions } from '../shared-log.ts'

/** A statement failed or timed out. */
export class LinkError extends Error {
  override readonly name = 'LinkError'
  /** PostgreSQL's SQLSTATE; null if the server did not answer. */
  readonly code: string | null
  constructor(message: string, code: string | null) {
    super(message)
    this.code = code
  }
}

export interface Link {
  query<Row = Record<string, unknown>>(text: string, values?: readonly unknown[], ms?: number): Promise<Row[]>
  /** Runs several statements in one transaction; `text` has no values. */
  script(text: string, ms?: number): Promise<void>
  close(): Promise<void>
}

const CONNECT_MS = 2_000
const ANSWER_MS = 4_000

// Counts and times arrive as numbers. JSON stays text and is parsed where it is needed.
const types = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') => {
    if (oid === 20 || oid === 1700) return Number
    if (oid === 114 || oid === 3802) return String
    return pg.types.getTypeParser(oid, format as 'text')
  }) as typeof pg.types.getTypeParser,
}

export function openLink(options: SharedLogOptions, name: string): Link {
  let client: pg.Client | null = null
  let last: Promise<unknown> = Promise.resolve()
  let closed = false

  const drop = () => {
    const dropped = client as (pg.Client & { connection?: { stream?: { destroy(): void } } }) | null
    client = null
    dropped?.connection?.stream?.destroy() // `end` would wait for an unresponsive server
  }
  const connect = async (): Promise<pg.Client> => {
    if (closed) throw new LinkError('the connection was closed', null)
    const fresh = new pg.Client({ ...settingsOf(options), application_name: `waybill ${name}`, types })
    client = fresh
    const error = () => {
      if (client === fresh) drop()
    }
    on(fresh, { error }, drop)
    await fresh.connect()
    return fresh
  }
  const run = async (config: { text: string; values?: unknown[] }, ms: number) => {
    let timer: Timer | undefined
    const late = new Promise<never>((_, reject) => {
      const giveUp = () => {
        drop()
        reject(new LinkError(`PostgreSQL did not answer within ${ms} ms`, null))
      }
      timer = after(ms, giveUp, reject)
    })
    const work = (async () => (await (client ?? (await connect())).query(config)).rows ?? [])()
    work.catch(() => {}) // the connection may still fail after it was given up
    try {
      return await Promise.race([work, late])
    } catch (error) {
      const { message, code } = error as Error & { code?: string }
      const answered = /^[0-9A-Z]{5}$/.test(code ?? '') && !/^(57P|08|25006)/.test(code!)
      if (!answered) drop()
      throw error instanceof LinkError
        ? error
        : new LinkError(withoutAddress(message, options), answered ? code! : null)
    } finally {
      timer?.close()
    }
  }
  const inTurn = <Answer>(work: () => Promise<Answer>): Promise<Answer> => {
    const mine = last.then(work, work)
    last = mine.catch(() => {})
    return mine
  }

  return {
    query: (text, values = [], ms = ANSWER_MS) => {
      let n = 0
      const numbered = text.replace(/\?/g, () => `$${++n}`)
      return inTurn(() => run({ text: numbered, values: [...values] }, ms)) as Promise<never>
    },
    script: (text, ms = 10 * ANSWER_MS) => inTurn(async () => void (await run({ text }, ms))),
    async close() {
      closed = true
      await Promise.race([last, sleep(200)])
      const open = client
      client = null
      if (open) ignoreErrors(open.removeAllListeners('error'))
      const ended = open?.end().catch(() => {})
      await Promise.race([ended, sleep(200)])
      ;(open as { connection?: { stream?: { destroy(): void } } } | null)?.connection?.stream?.destroy()
    },
  }
}

/** Maximum size of a CA file, bytes. */
const MAX_CA_BYTES = 2 ** 20

/**
 * Returns the settings for pg. Certificates are checked for connections to other machines or with a CA,
 * unless disabled.
 */
function settingsOf({ url, tls, ca }: SharedLogOptions): pg.ClientConfig {
  const parsed = addressOf(url)
  return {
    ...parsed,
    connectionTimeoutMillis: CONNECT_MS,
    ssl:
      tls === 'off' || (isHere(parsed.host) && ca === undefined)
        ? false
        : { rejectUnauthorized: true, ...(ca && { ca: readBounded(ca, MAX_CA_BYTES).toString('utf8') }) },
  }
}

const addressOf = (text: string) => {
  const url = new URL(text.replace(/^postgres(ql)?:\/\/([^@/]*@)?\//, 'postgresql://$2localhost/'))
  return {
    host: url.searchParams.get('host') ?? decodeURIComponent(url.hostname.replace(/^\[|\]$/g, '')),
    port: Number(url.searchParams.get('port') ?? (url.port || 5432)),
    user: decodeURIComponent(url.username) || 'postgres',
    password: decodeURIComponent(url.password),
    database: decodeURIComponent(url.pathname.slice(1)) || 'postgres',
  }
}

const isHere = (host: string): boolean =>
  host.startsWith('/') || host === 'localhost' || host === '::1' || /^127(\.\d+){3}$/.test(host)

function withoutAddress(message: string, { url }: SharedLogOptions): string {
  const { password } = addressOf(url)
  const bare = message.replaceAll(url, '[address]')
  return password ? bare.replaceAll(password, '[password]') : bare
}
