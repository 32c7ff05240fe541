// `npm run gateways -- NAME…`: installs other projects' gateways in a scratch directory, and tests each of
// them with the ordinary command. The tests are the contract, and the profiles of agents if the gateway
// serves their dialect. Stores the scoreboard's data. None of their code enters the project. --dir sets the
// scratch directory; NAME and reports/NAME in it are recreated and removed, --keep leaves both; --clients
// runs only the profiles of agents and keeps the other results; --only ID,… runs only these requirements, in
// each dialect, and keeps the other results. `versions [NAME…]` compares versions of projects
// instead (versions.ts), and `folder NAME…` writes what a project's own CI needs (folder.ts).
import { existsSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import {
  type Profile,
  readProfile,
  readRequirements,
  requirementsFor,
  withoutDialect,
} from '../../conformance/checks/requirements.ts'
import { readTarget } from '../../conformance/target/read.ts'
import { writeFolders } from './folder.ts'
import { conformPeer, installGateway, type OtherGateway, peerNames, readPeer } from './gateway.ts'
import {
  BOARD_PROFILE,
  CLIENT_PROFILES,
  keepClients,
  keepOnly,
  keepOutcome,
  targetFile,
} from './scoreboard.ts'
import { compareVersions } from './versions.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    keep: { type: 'boolean' },
    clients: { type: 'boolean', default: false },
    only: { type: 'string' },
    dir: { type: 'string', default: join(tmpdir(), 'waybill-peers') },
  },
})
const scratch = resolve(values.dir)
if (positionals[0] === 'versions') {
  await compareVersions(scratch, positionals.slice(1))
  process.exit()
}
if (positionals[0] === 'folder') {
  writeFolders(positionals.slice(1), scratch)
  process.exit()
}
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
  const target = readTarget(targetFile(name))
  const { dialects } = target
  if (values.only !== undefined) {
    const asked = values.only.split(',')
    const ids = requirementsFor(readRequirements(), BOARD_PROFILE, target)
      .map(({ id }) => id)
      .filter((id) => asked.includes(withoutDialect(id)))
    await run(name, peer, BOARD_PROFILE, join(reports, BOARD_PROFILE), ids)
    if (keepOnly(name, ids, { reports, scratch })) continue
    process.stderr.write(
      `gateways: ${name}: the run ended before its first check; the earlier result stays\n`,
    )
    process.exitCode = 3
    continue
  }
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
  peer: OtherGateway,
  profile: Profile,
  report: string,
  only: readonly string[] = [],
): Promise<string> {
  const ids = only.length > 0 ? ['--only', ...only] : []
  const said = await conformPeer(
    [name, '--profile', profile, '--report', report, ...ids],
    peer,
    join(scratch, name),
  )
  return existsSync(join(report, 'results.json')) ? '' : said
}
