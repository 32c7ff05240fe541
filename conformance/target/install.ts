// Installs a version of a gateway from npm or PyPI in a scratch directory, with the packages that its target
// file names, and sets up a started target by the requests of its file. Does not know how a target is started.
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { holdsCredential } from '../../src/shared/plain-address.ts'
import { type Seen, sendRequest } from '../evidence/http-client.ts'
import { at, jsonOf } from '../evidence/reading.ts'
import { StartError } from './instance.ts'
import { atExit } from './local.ts'
import { fillIn, type Target, type Values } from './schema.ts'

type Install = NonNullable<Target['install']>

/** Maximum time of one install command, ms. */
const INSTALL_TIMEOUT_MS = 600_000

const onWindows = process.platform === 'win32'

/** Returns the packages of a version as their installer names them, such as `lm-proxy==3.3.2`. */
export const packagesOf = (install: Install, version: string): readonly string[] =>
  fillIn('npm' in install ? install.npm : install.pypi, { version })

export const registryOf = (install: Install): string => ('npm' in install ? 'npm' : 'PyPI')

/** Returns the commands that install a version in the current directory, and the directory of its programs. */
export function installCommands(
  install: Install,
  version: string,
): { readonly commands: readonly (readonly string[])[]; readonly bin: string } {
  const packages = packagesOf(install, version)
  if ('npm' in install) {
    // Without scripts, because a package may download a program when it is installed.
    const options = ['--no-save', '--no-audit', '--no-fund', '--ignore-scripts', '--legacy-peer-deps']
    return {
      commands: [['npm', 'install', ...options, '--loglevel=error', '--prefix', '.', ...packages]],
      bin: join('node_modules', '.bin'),
    }
  }
  const bin = onWindows ? 'Scripts' : 'bin'
  return {
    commands: [
      [install.python, '-m', 'venv', '.'],
      [join(bin, 'python'), '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...packages],
    ],
    bin,
  }
}

/**
 * Installs a version in a new directory, and puts its programs first in PATH. The directory is removed when
 * this process ends. Rejects with StartError: one sentence.
 */
export async function installVersion(install: Install, version: string, directory: string): Promise<void> {
  const { commands, bin } = installCommands(install, version)
  const what = `${packagesOf(install, version).join(' ')} from ${registryOf(install)}`
  for (const command of commands) await runInstaller(what, command, directory)
  process.env.PATH = [join(directory, bin), process.env.PATH].join(delimiter)
}

/** Makes a directory that is removed when this process ends. */
export function scratchDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'waybill-install-'))
  atExit(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

function runInstaller(what: string, [program, ...args]: readonly string[], cwd: string): Promise<void> {
  return new Promise((done, fail) => {
    const options = { cwd, timeout: INSTALL_TIMEOUT_MS, maxBuffer: 2 ** 26, shell: onWindows }
    const child = execFile(program!, args, options, (cause, _, stderr) => {
      forget()
      if (cause === null) return done()
      fail(new StartError(`cannot install ${what}: ${program} ${installerWords(cause, stderr)}`, { cause }))
    })
    const forget = atExit(() => child.kill('SIGKILL'))
  })
}

/** Returns the installer's own reason in one line: npm writes it after its code, pip in its last error. */
export function installerWords(
  {
    code,
    killed,
  }: { readonly code?: string | number | null | undefined; readonly killed?: boolean | undefined },
  stderr: string,
): string {
  if (code === 'ENOENT') return 'is not on this machine'
  if (killed) return `took longer than ${INSTALL_TIMEOUT_MS / 60_000} min`
  const lines = stderr.split('\n').map((line) => line.trim())
  const pip = lines.findLast((line) => line.startsWith('ERROR: '))?.slice('ERROR: '.length)
  const npm = lines
    .filter((line) => /^npm (error|ERR!) /.test(line))
    .map((line) => line.replace(/^npm (error|ERR!) /, ''))
    .find((line) => !line.startsWith('code '))
  return `ended with ${code}: ${pip ?? npm ?? lines.findLast((line) => line !== '') ?? 'it printed nothing'}`
}

/** Maximum duration of a request, ms; long because a gateway on a busy machine may still be loading. */
const REQUEST_TIMEOUT_MS = 60_000

/**
 * Sends the setup requests and fills in the rest of the target file from their answers. A cookie is a secret.
 */
export async function setUp(
  template: Target,
  target: Target,
  values: Values,
  baseUrl: string,
  secrets: Map<string, string>,
): Promise<Target> {
  let known = values
  for (const step of template.setup) {
    const { keep, keep_headers, ...request } = fillIn(step, known)
    const what = `setup of ${target.name}`
    const { body, headers } = await manage(what, request, baseUrl, target.ca)
    const keeps = (name: string, place: string, value: unknown): void => {
      if (value == null)
        throw new StartError(
          `${what}: ${request.method} ${request.path}: nothing at ${place}: ${body.slice(0, 200)}`,
        )
      known = { ...known, [name]: String(value) }
    }
    for (const [name, pointer] of Object.entries(keep)) keeps(name, pointer, at(jsonOf(body), pointer))
    for (const [name, header] of Object.entries(keep_headers)) {
      const value = keptFrom(headers, header)
      keeps(name, header, value)
      if (isCookie(header)) secrets.set(name, value!.slice(value!.indexOf('=') + 1))
    }
  }
  return fillIn({ ...template, setup: [] }, known)
}

const isCookie = (header: string): boolean => header.toLowerCase() === 'set-cookie'

/** Returns a header for the next request. Of a cookie, it contains only the name and the value. */
const keptFrom = (headers: Readonly<Record<string, string>>, header: string): string | undefined => {
  const value = headers[header.toLowerCase()]
  return isCookie(header) ? value?.split(';')[0] : value
}

/**
 * Sends a request to the management interface and returns its answer. Rejects with StartError if the request
 * is refused.
 */
export async function manage(
  what: string,
  { method, path, headers, body }: Target['reset'][number],
  baseUrl: string,
  ca?: string,
): Promise<Pick<Seen, 'body' | 'headers'>> {
  const outgoing = { method, headers: { 'content-type': 'application/json', ...headers } }
  const text = body === undefined ? null : JSON.stringify(body)
  const whole = path.startsWith('/') ? null : addressIn(what, path)
  const [base, below] = whole === null ? [baseUrl, path] : [whole.origin, whole.pathname + whole.search]
  const seen = await sendRequest(base, { ...outgoing, path: below, body: text }, REQUEST_TIMEOUT_MS, { ca })
    .done
  if (seen.status !== null && seen.status < 300) return seen
  throw new StartError(`${what}: ${method} ${path}: ${seen.status ?? seen.error}: ${seen.body.slice(0, 200)}`)
}

/** Parses an address, after its placeholders are filled in. */
function addressIn(what: string, text: string): URL {
  if (URL.canParse(text) && /^https?:/.test(text)) return new URL(text)
  throw new StartError(`${what}: ${text} is not an address; write one such as http://127.0.0.1:8080/path`)
}

/** Refuses the address of a gateway if it may hold a credential, because results and reports show it. */
export function checkBase(what: string, text: string): void {
  addressIn(what, text)
  if (holdsCredential(text))
    throw new StartError(
      `${what}: its address must not contain a user, a password, a query or a fragment; name the variable of the key in key_env`,
    )
}
