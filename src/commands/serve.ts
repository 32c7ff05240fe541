// `waybill serve`: runs the gateway until it is told to stop.
import { type Config, loadConfig } from '../config.ts'
import { createGateway, isLoopback } from '../gateway.ts'

export interface ServeOptions {
  readonly config: string
  readonly port?: string
  /** A directory of recordings, or true for those that come with the package. */
  readonly replay?: string | true
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Resolves when the gateway has stopped. Rejects when it cannot start. */
export async function serve({ config: file, port, replay, env }: ServeOptions): Promise<void> {
  // From the beginning, because the first process of a container ignores every signal that it does not ask for.
  const told = new Promise<string>((resolve) => {
    for (const name of ['SIGINT', 'SIGTERM']) process.once(name, resolve)
  })
  const loaded = loadConfig(file, {
    env: port === undefined ? env : { ...env, WAYBILL_PORT: port },
    replay: replay !== undefined,
  })
  const interception = replay === undefined ? null : await startReplay(replay)
  const gateway = await createGateway({
    ...loaded,
    replay: replay !== undefined,
    onInternalError: (error, requestId) => {
      const where = requestId === null ? '' : ` in request ${requestId}`
      process.stderr.write(`waybill: error${where}: ${(error as Error).stack}\n`)
    },
  })
  process.stdout.on('error', () => {}) // nobody reads what we print any more; that is no reason to stop
  process.stdout.write(greeting(gateway.url, loaded.config, replay !== undefined))

  const signal = await told
  process.stdout.write(`${signal}: no new calls; waiting for open ones\n`)
  await gateway.close(30_000)
  interception?.dispose()
}

async function startReplay(replay: string | true): Promise<{ dispose(): void }> {
  const { interceptProviders } = await import('../../mocks/intercept.ts')
  return interceptProviders({ loopback: 'recorded', ...(replay !== true && { recordings: replay }) })
}

function greeting(url: string, config: Config, replaying: boolean): string {
  const model = Object.keys(config.routes)[0] ?? 'PROVIDER/MODEL'
  const key = config.keys.length > 0 ? ` -H "authorization: Bearer $WAYBILL_KEY"` : ''
  return [
    `Waybill listens on ${url}${replaying ? ', on recordings: no key, no network, no cost' : ''}`,
    config.keys.length === 0 && isLoopback(config.server.host)
      ? 'No keys are configured, so it serves this machine only.'
      : null,
    '',
    'Ask:',
    `  curl -s ${url}/v1/chat/completions${key} -H 'content-type: application/json' -d '{"model":"${model}","messages":[{"role":"user","content":"Where do you go?"}]}'`,
    'See where it went:',
    `  curl -s${key} '${url}/api/usage/request-logs?limit=1'`,
    '',
    '',
  ]
    .filter((line) => line !== null)
    .join('\n')
}
