// `waybill export`: writes every matching call to stdout, as CSV or JSON. The output is streamed, so its size
// does not matter.
import { once } from 'node:events'
import { ANSWER_MS, gatewayAt, namedGateway, streamFrom } from './gateway-client.ts'
import { filtersOf, type LogsOptions, nothingFound } from './logs.ts'
import { complain } from './output.ts'

interface ExportOptions
  extends Pick<LogsOptions, 'config' | 'url' | 'keyFile' | 'since' | 'until' | 'filters' | 'env'> {
  readonly form: string
  readonly columns?: string
}

/**
 * Resolves when everything is written or the reader has closed. Rejects if the gateway refuses or its answer
 * is cut off.
 */
export async function exportCalls(options: ExportOptions): Promise<void> {
  const { config, url, keyFile, since, until, filters, form, columns, env } = options
  const stop = new AbortController()
  process.stdout.on('error', () => stop.abort())
  const base = namedGateway(url, config, env)
  const stream = streamFrom(base, env, keyFile)
  const narrowed = filtersOf({ follow: false, limit: '1', since, until, filters })
  const query = new URLSearchParams({ ...narrowed, form, ...(columns !== undefined && { columns }) })
  let rows = form === 'json' ? -2 : -1 // without the header row or the two brackets
  try {
    await stream(`/api/usage/export?${query}`, stop.signal, async (piece) => {
      for (const byte of piece) if (byte === LINE_FEED) rows++
      if (!process.stdout.write(piece)) await once(process.stdout, 'drain', { signal: stop.signal })
    })
    if (rows > 0) return
    const get = gatewayAt(base, env, keyFile)
    complain(
      await nothingFound(narrowed, filters, (path, shape) =>
        get(path, shape, AbortSignal.timeout(ANSWER_MS)),
      ),
    )
  } catch (error) {
    if (!stop.signal.aborted) throw error
  }
}

const LINE_FEED = 10
