// Runs a gateway of another project. Its target file names its packages (`install`), or INSTALLS has its installation, the
// path of its program, and the services that it needs.

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { installCommands } from '../../conformance/target/install.ts'
import { ownTargets, readTarget } from '../../conformance/target/read.ts'
import type { Target } from '../../conformance/target/schema.ts'

export interface OtherGateway {
  /**
   * Shell lines, run in the gateway's own directory; $NODE is this Node, $PROJECT the path of this project.
   */
  readonly install: readonly string[]
  /** Path of the gateway's program below its directory. */
  readonly bin: string
  /** Returns additions to the suite's environment, used in the target file as `{{env.NAME}}`. */
  readonly env?: (directory: string) => Record<string, string>
  /** Servers that run as long as the gateway. */
  readonly services?: readonly 'postgres'[]
}

/** Installs npm packages in the current directory. */
const NPM = 'npm install --no-save --no-audit --no-fund --ignore-scripts --prefix .'

/**
 * Tables for counting tokens that some gateways download at start-up. LiteLLM's package contains the two
 * tables that are needed.
 */
const TOKEN_TABLES = [
  'python3 -m pip download --quiet --no-deps --only-binary :all: -d . litellm==1.106.2',
  'mkdir tokens && python3 -m zipfile -e litellm-*.whl wheel && cp wheel/litellm/litellm_core_utils/tokenizers/[0-9a-f]* tokens/',
  'rm -r wheel litellm-*.whl',
]
/** Returns the variable with which OpenAI's tokenizer finds the tables. */
const tokenTables = (directory: string) => ({ TIKTOKEN_CACHE_DIR: join(directory, 'tokens') })

const PRISMA = '5.17.0' // required by prisma 0.15.0 for Python
const NEW_API = 'github.com/QuantumNous/new-api'

export const INSTALLS: Readonly<Record<string, OtherGateway>> = {
  litellm: {
    // LiteLLM's image includes prisma. Two of Prisma's programs are not in any package registry:
    // prisma-engine.ts replaces the query engine, and psql applies the migrations instead of the other program.
    install: [
      'python3 -m venv .',
      'bin/pip install --quiet "litellm[proxy]==1.106.2" prisma==0.15.0',
      `${NPM} prisma@${PRISMA} @prisma/client@${PRISMA} @prisma/adapter-pg@${PRISMA} @prisma/driver-adapter-utils@${PRISMA} pg@8.13.1 graphql@16.9.0`,
      `mkdir run && cat > run/query-engine <<END
#!/bin/sh
exec "$NODE" "$PROJECT/scripts/gateways/prisma-engine.ts" "$PWD" "\\$@"
END`,
      `cat > run/litellm <<END
#!/bin/sh
export PRISMA_BINARY_CACHE_DIR="$PWD" PRISMA_QUERY_ENGINE_BINARY="$PWD/run/query-engine" PRISMA_SCHEMA_ENGINE_BINARY=/bin/true
export DISABLE_SCHEMA_UPDATE=true PATH="$PWD/bin:\\$PATH"
psql -qc 'SELECT 1 FROM "LiteLLM_SpendLogs" LIMIT 0' "\\$DATABASE_URL" > /dev/null 2>&1 ||
  cat "$PWD"/lib/python*/site-packages/litellm_proxy_extras/migrations/*/migration.sql | psql -q -v ON_ERROR_STOP=1 "\\$DATABASE_URL" > /dev/null || exit
exec "$PWD/bin/litellm" "\\$@"
END`,
      'chmod +x run/*',
      'PATH="$PWD/bin:$PATH" PRISMA_BINARY_CACHE_DIR="$PWD" PRISMA_QUERY_ENGINE_BINARY="$PWD/run/query-engine" PRISMA_SCHEMA_ENGINE_BINARY=/bin/true bin/prisma generate --schema lib/python*/site-packages/litellm/proxy/schema.prisma',
    ],
    bin: 'run',
    services: ['postgres'],
  },
  'new-api': {
    // The module embeds its built page but does not contain it, so an empty page replaces it. Newer versions
    // are not in Go's checksum database, and cannot be built without it.
    install: [
      `go mod init peer && go mod edit -require=${NEW_API}@v0.10.0 && go mod download ${NEW_API}`,
      `cp -R "$(go list -m -f '{{.Dir}}' ${NEW_API})" source && chmod -R u+w source`,
      'mkdir source/web/dist && echo "<html></html>" > source/web/dist/index.html',
      'cd source && go build -o ../bin/new-api .',
    ],
    bin: 'bin',
  },
  omniroute: {
    // The published archive contains a built server with an SQLite binding for another version of Node.
    install: [
      'npm pack --silent omniroute@3.7.9 && tar -xzf omniroute-3.7.9.tgz',
      `${NPM} better-sqlite3@13.2.0 wreq-js@2.0.1`,
      'rm -r package/app/node_modules/better-sqlite3',
      'cp -R node_modules/better-sqlite3 package/app/node_modules/',
      // Starts the server like its own starter, with WebSocket upgrades of /v1/responses.
      'mkdir bin && printf \'#!/bin/sh\\nexec node "%s/package/app/server-ws.mjs"\\n\' "$PWD" > bin/omniroute-server',
      'chmod +x bin/omniroute-server',
    ],
    bin: 'bin',
  },
  'one-api': {
    install: [
      'go mod init peer && go mod edit -require=github.com/songquanpeng/one-api@v0.6.10',
      'go build -mod=mod -o bin/one-api github.com/songquanpeng/one-api',
      ...TOKEN_TABLES,
    ],
    bin: 'bin',
    env: tokenTables,
  },
  rosetta: {
    // The package claims to support Python 3.10 but uses syntax of 3.12. pyenv, if installed, needs the
    // explicit version.
    install: [
      'PYENV_VERSION=3.12.1 python3.12 -m venv .',
      'bin/pip install --quiet rosetta-llm==0.2.2',
      ...TOKEN_TABLES,
    ],
    bin: 'bin',
    env: tokenTables,
  },
}

const PROJECT = fileURLToPath(new URL('../..', import.meta.url))

/** Started server: its additions to the environment, and how to end it. */
interface Service {
  readonly env: Readonly<Record<string, string>>
  end(): Promise<void>
}

const SERVICES = {
  /**
   * Starts a PostgreSQL from Debian's packages, on a socket in a scratch directory, with an empty database.
   */
  async postgres(): Promise<Service> {
    const { NO_POSTGRES, startPostgres } = await import('../../src/test/test-postgres.ts')
    if (NO_POSTGRES !== false) throw new Error(NO_POSTGRES)
    const server = await startPostgres()
    // Parts of the address, for programs that cannot read a socket from an address as libpq can.
    const parts = { PGHOST: server.directory, PGUSER: 'waybill', PGDATABASE: 'peer' }
    return {
      env: { DATABASE_URL: await server.database('peer'), ...parts },
      end: () => server.end(),
    }
  },
}

const targetOf = (name: string): Target => readTarget(join(ownTargets, `${name}.yaml`))
/** Names of the gateways that can be installed. */
export const peerNames: readonly string[] = [
  ...new Set([
    ...Object.keys(INSTALLS),
    ...readdirSync(ownTargets)
      .map((file) => file.replace(/\.yaml$/, ''))
      .filter((name) => targetOf(name).install !== undefined),
  ]),
].sort()

/** Returns how a gateway is installed and run, in the version of its target file if no other is given. */
export async function readPeer(name: string, version?: string): Promise<OtherGateway> {
  const own = version === undefined ? INSTALLS[name] : undefined
  if (own) return own
  const target = targetOf(name)
  const { commands, bin } = installCommands(target.install!, version ?? target.version!)
  return {
    install: commands.map((command) => command.map((word) => `'${word}'`).join(' ')),
    bin,
    ...(/\{\{env\.(PGHOST|DATABASE_URL)\}\}/.test(JSON.stringify(target)) && { services: ['postgres'] }),
  }
}

/**
 * Runs the install lines unless they were run before with this Node and project. Returns false if a line
 * fails.
 */
export function installGateway(name: string, { install: lines }: OtherGateway, directory: string): boolean {
  const mark = join(directory, '.installed')
  const own = { NODE: process.execPath, PROJECT }
  // Install lines write both paths into programs, so a program that another checkout installed would look for
  // files in that checkout.
  const installed = JSON.stringify({ ...own, lines })
  if (existsSync(mark) && readFileSync(mark, 'utf8') === installed) return true
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory, { recursive: true })
  for (const line of lines) {
    const env = { ...process.env, ...own }
    const { status } = spawnSync('sh', ['-c', line], { cwd: directory, env, stdio: 'inherit' })
    if (status === 0) continue
    process.stderr.write(`gateways: ${name} cannot be installed: \`${line}\` ended with ${status}\n`)
    return false
  }
  writeFileSync(mark, installed)
  return true
}

/**
 * Runs `waybill conform` with the programs, the environment and the services of an installed gateway. Returns
 * the error output.
 */
export async function conformPeer(
  args: readonly string[],
  { bin, env, services = [] }: OtherGateway,
  directory: string,
): Promise<string> {
  const servers: Service[] = []
  try {
    for (const each of services) servers.push(await SERVICES[each]())
    const suite = spawn(process.execPath, ['--import', 'tsx', 'src/cli.ts', 'conform', ...args], {
      cwd: PROJECT,
      env: {
        ...process.env,
        ...Object.assign({}, ...servers.map((server) => server.env)),
        ...env?.(directory),
        PATH: [join(directory, bin), process.env.PATH].join(delimiter),
      },
      stdio: ['ignore', 'inherit', 'pipe'],
    })
    const [said] = await Promise.all([text(suite.stderr), once(suite, 'close')])
    process.stderr.write(said)
    return said
  } finally {
    for (const server of servers) await server.end()
  }
}
