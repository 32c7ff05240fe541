// `npm run gateways -- NAME…`: installs other projects' gateways in a scratch directory, and tests each of
// them with the ordinary command. The tests are the contract, and the profiles of agents if the gateway
// serves their dialect. Stores the scoreboard's data. None of their code enters the project. --dir sets the
// scratch directory; NAME and reports/NAME in it are recreated and removed, --keep leaves both; --clients
// runs only the profiles of agents and keeps the other results. Each installation is in installs/NAME.ts.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type Profile, readProfile } from '../../conformance/requirements/profiles.ts'
import { readTarget } from '../../conformance/target/read.ts'
import { installGateway, type OtherGateway, peerNames, readPeer, SERVICES } from './gateway.ts'
import { BOARD_PROFILE, CLIENT_PROFILES, keepClients, keepOutcome, targetFile } from './scoreboard.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    keep: { type: 'boolean' },
    clients: { type: 'boolean', default: false },
    dir: { type: 'string', default: join(tmpdir(), 'waybill-peers') },
  },
})
const root = fileURLToPath(new URL('../..', import.meta.url))
const scratch = resolve(values.dir)
const unknown = positionals.filter((name) => !peerNames.includes(name))
if (positionals.length === 0 || unknown.length > 0) {
  process.stderr.write(
    `gateways: ${unknown.length > 0 ? `unknown: ${unknown.join(', ')}; ` : ''}known are ${peerNames.join(', ')}\n`,
  )
  process.exit(2)
}

for (const name of positionals) {
  const peer = await readPeer(name)
  if (!installGateway(name, peer, join(scratch, name))) {
    process.exitCode = 3
    continue
  }
  const reports = join(scratch, 'reports', name)
  rmSync(reports, { recursive: true, force: true })
  const { dialects } = readTarget(targetFile(name))
  const clients = CLIENT_PROFILES.filter((profile) => readProfile(profile).dialect! in dialects)
  let trouble = ''
  for (const profile of values.clients ? clients : ([BOARD_PROFILE, ...clients] as const))
    trouble ||= await run(name, peer, profile, join(reports, profile))
  if (values.clients) keepClients(name, { reports, scratch })
  if (values.clients || keepOutcome(name, { reports, trouble, scratch })) continue
  process.stderr.write(`gateways: ${name}: the run ended before its first check; the earlier result stays\n`)
  process.exitCode = 3
}
if (!values.keep)
  for (const name of positionals)
    for (const own of [name, join('reports', name)])
      rmSync(join(scratch, own), { recursive: true, force: true })

/**
 * Tests a gateway against a profile, with the services that it needs. Returns the error output if the run
 * ended before its first check.
 */
async function run(
  name: string,
  { bin, env, services = [] }: OtherGateway,
  profile: Profile,
  report: string,
): Promise<string> {
  const directory = join(scratch, name)
  const servers = []
  try {
    for (const each of services) servers.push(await SERVICES[each]())
    const command = ['src/cli.ts', 'conform', name, '--profile', profile, '--report', report]
    const suite = spawn(process.execPath, ['--import', 'tsx', ...command], {
      cwd: root,
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
    return existsSync(join(report, 'results.json')) ? '' : said
  } finally {
    for (const server of servers) await server.end()
  }
}
