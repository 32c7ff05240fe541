// `npm run peers -- NAME…`: installs other people's gateways in a scratch directory, holds each to the contract with the
// command that any user has, and keeps what docs/scoreboard.md is written from. Nothing of theirs enters the project.
// --dir says where the scratch directory is; NAME and reports/NAME in it are made anew and removed, --keep leaves both.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { keepOutcome } from './scoreboard.ts'

/** How a gateway is installed into the directory where its `install` lines run, and where its program is then. */
interface Peer {
  readonly install: readonly string[]
  readonly bin: string
  readonly env?: (directory: string) => Record<string, string>
}

const NPM = 'npm install --no-save --no-audit --no-fund --ignore-scripts --prefix .'

const peers: Readonly<Record<string, Peer>> = {
  portkey: {
    // With a later @hono/node-server, which its range allows, each streamed call of this version ends in a 500.
    install: [`${NPM} --legacy-peer-deps @portkey-ai/gateway@1.15.2 @hono/node-server@1.13.8`],
    bin: 'node_modules/.bin',
  },
  litellm: {
    // Its image brings prisma too; without it a missing key is answered with a 500.
    install: ['python3 -m venv .', 'bin/pip install --quiet "litellm[proxy]==1.106.2" prisma'],
    bin: 'bin',
  },
  omniroute: {
    // The published archive holds a built server whose SQLite binding is for another version of Node.
    install: [
      'npm pack --silent omniroute@3.7.9 && tar -xzf omniroute-3.7.9.tgz',
      `${NPM} better-sqlite3@13.2.0`,
      'rm -r package/app/node_modules/better-sqlite3',
      'cp -R node_modules/better-sqlite3 package/app/node_modules/',
      'mkdir bin && printf \'#!/bin/sh\\nexec node "%s/package/app/server.js"\\n\' "$PWD" > bin/omniroute-server',
      'chmod +x bin/omniroute-server',
    ],
    bin: 'bin',
  },
  'claude-code-router': {
    install: [
      'npm pack --silent @musistudio/claude-code-router@1.0.73 && tar -xzf musistudio-claude-code-router-1.0.73.tgz',
      'mkdir bin && ln -s ../package/dist/cli.js bin/ccr',
    ],
    bin: 'bin',
  },
  mlflow: {
    install: ['python3 -m venv .', 'bin/pip install --quiet "mlflow[gateway]==3.17.2"'],
    bin: 'bin',
  },
  'one-api': {
    // It counts tokens by tables that it fetches at its start; LiteLLM's package holds the same two.
    install: [
      'go mod init peer && go mod edit -require=github.com/songquanpeng/one-api@v0.6.10',
      'go build -mod=mod -o bin/one-api github.com/songquanpeng/one-api',
      'pip download --quiet --no-deps --only-binary :all: -d . litellm==1.106.2',
      'mkdir tokens && python3 -m zipfile -e litellm-*.whl wheel && cp wheel/litellm/litellm_core_utils/tokenizers/[0-9a-f]* tokens/',
      'rm -r wheel litellm-*.whl',
    ],
    bin: 'bin',
    env: (directory) => ({ TIKTOKEN_CACHE_DIR: join(directory, 'tokens') }),
  },
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { keep: { type: 'boolean' }, dir: { type: 'string', default: join(tmpdir(), 'waybill-peers') } },
})
const root = fileURLToPath(new URL('..', import.meta.url))
const scratch = resolve(values.dir)
const unknown = positionals.filter((name) => !peers[name])
if (positionals.length === 0 || unknown.length > 0) {
  process.stderr.write(
    `peers: ${unknown.length > 0 ? `unknown: ${unknown.join(', ')}; ` : ''}known are ${Object.keys(peers).join(', ')}\n`,
  )
  process.exit(2)
}

for (const name of positionals) {
  const peer = peers[name]!
  const directory = join(scratch, name)
  if (!install(name, peer, directory)) {
    process.exitCode = 3
    continue
  }
  const report = join(scratch, 'reports', name)
  rmSync(report, { recursive: true, force: true })
  const command = ['src/cli.ts', 'conform', name, '--profile', 'observable', '--report', report]
  const { stderr } = spawnSync(process.execPath, ['--import', 'tsx', ...command], {
    cwd: root,
    env: {
      ...process.env,
      ...peer.env?.(directory),
      PATH: [join(directory, peer.bin), process.env.PATH].join(delimiter),
    },
    stdio: ['ignore', 'inherit', 'pipe'],
    encoding: 'utf8',
  })
  process.stderr.write(stderr)
  keepOutcome(name, { report, trouble: stderr, scratch })
}
if (!values.keep)
  for (const name of positionals)
    for (const own of [name, join('reports', name)])
      rmSync(join(scratch, own), { recursive: true, force: true })

/** Runs the install lines where they have not been run; false when one fails. */
function install(name: string, { install: lines }: Peer, directory: string): boolean {
  const mark = join(directory, '.installed')
  if (existsSync(mark)) return true
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory, { recursive: true })
  for (const line of lines) {
    const { status } = spawnSync('sh', ['-c', line], { cwd: directory, stdio: 'inherit' })
    if (status === 0) continue
    process.stderr.write(`peers: ${name} cannot be installed: \`${line}\` ended with ${status}\n`)
    return false
  }
  writeFileSync(mark, '')
  return true
}
