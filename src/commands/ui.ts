// `waybill ui`: opens the page of the running gateway in a browser. If the gateway has keys, a code signs the
// page in. The code works once, within a minute, and follows the `#`, which a browser sends to no server.
import { spawn } from 'node:child_process'
import { z } from 'zod'
import { ANSWER_MS, gatewayAt, namedGateway } from './gateway-client.ts'
import { complain, print } from './output.ts'

interface UiOptions {
  readonly config: string
  readonly url?: string
  readonly keyFile?: string
  /** True to print the address and open nothing. */
  readonly print?: boolean
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Opens the page. Rejects if no gateway answers, or if the gateway requires a key that is missing. */
export async function ui({ config: file, url, keyFile, print: isPrinted, env }: UiOptions): Promise<void> {
  const base = namedGateway(url, file, env)
  const ask = gatewayAt(base, env, keyFile)
  const signal = AbortSignal.timeout(ANSWER_MS)
  const { name } = await ask('/api/keys/me', z.looseObject({ name: z.string().nullable() }), signal)
  const code =
    name === null ? '' : (await ask('/page/code', z.looseObject({ token: z.string() }), signal, 'POST')).token
  const address = `${base.href.replace(/\/+$/, '')}/${code && `#code=${code}`}`
  if (isPrinted) {
    print(address)
    return
  }
  if (await opened(address)) print(`opened ${base.origin} in the browser`)
  else {
    complain('no browser could be started here; open this address once, within a minute:')
    print(address)
  }
}

/** Returns true if the program that opens addresses on this system accepted it. */
function opened(address: string): Promise<boolean> {
  const [command, ...args] =
    process.platform === 'darwin'
      ? ['open']
      : process.platform === 'win32'
        ? ['rundll32', 'url.dll,FileProtocolHandler']
        : ['xdg-open']
  return new Promise((resolve) => {
    const child = spawn(command!, [...args, address], { stdio: 'ignore' })
    child.once('error', () => resolve(false))
    child.once('exit', (status) => resolve(status === 0))
  })
}
