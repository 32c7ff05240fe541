// `npm run agents`: installs the coding agents that people use, runs each unmodified and headless through a Waybill gateway
// with the witness as its provider, and prints what came of it. Nothing leaves this machine but the installation.
//   npm run agents -- [--agent NAME]… [--dialect NAME]… [--trouble NAME]… [--scratch DIR] [--details FILE]
import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { DIALECT_NAMES } from '../src/config/schema.ts'
import { install } from './agents/install.ts'
import { type Result, runAgent, TROUBLES } from './agents/run.ts'
import { AGENTS } from './agents/table.ts'

const { values } = parseArgs({
  options: {
    agent: { type: 'string', multiple: true },
    dialect: { type: 'string', multiple: true },
    trouble: { type: 'string', multiple: true },
    scratch: { type: 'string', default: join(tmpdir(), 'waybill-agents') },
    details: { type: 'string' },
  },
})
const wanted = (list: readonly string[] | undefined, name: string): boolean => list?.includes(name) ?? true

const results: Result[] = []
for (const agent of AGENTS.filter(({ name }) => wanted(values.agent, name))) {
  let installed: ReturnType<typeof install>
  try {
    installed = install(agent, values.scratch)
  } catch (error) {
    console.log(`${agent.title}: cannot be installed: ${(error as Error).message.split('\n')[0]}`)
    continue
  }
  for (const client of Object.keys(agent.ways).filter((name) => wanted(values.dialect, name))) {
    if (!(DIALECT_NAMES as readonly string[]).includes(client)) {
      console.log(`${agent.title}, ${client}: the gateway does not speak it`)
      continue
    }
    for (const trouble of Object.keys(TROUBLES).filter((name) => wanted(values.trouble, name))) {
      const result = await runAgent(agent, installed, client, client, trouble)
      results.push(result)
      console.log(row(result))
      if (values.details) writeFileSync(values.details, JSON.stringify(results, null, 1))
    }
  }
}

function row(result: Result): string {
  const {
    agent,
    version,
    client,
    trouble,
    requests,
    calls,
    inferences,
    outcome,
    session,
    line,
    seconds,
    hosts,
  } = result
  return `| ${[`${agent} ${version}`, client, trouble, requests, calls, inferences, outcome, session, line, `${seconds} s`, hosts.join(' ') || '-'].join(' | ')} |`
}
