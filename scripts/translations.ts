// `npm run translations`: asks the gateways that translate the same things, each with the witness as its provider, and makes a
// table of what came through and what each told. Other people's gateways are installed as `npm run peers` does it.
//   npm run translations -- [--only NAME]… [--dir DIR] [--details FILE] [--write]
// --details keeps all that was seen; --write puts the tables into docs/translation.md.
import { readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { readTarget } from '../conformance/read-target.ts'
import { start } from '../conformance/start.ts'
import { valuesOf } from '../conformance/witness-control.ts'
import { createWitness } from '../mocks/library.ts'
import { install, readPeer } from './peer.ts'
import { ask, type Outcome } from './translations/ask.ts'
import { type Case, CHAT_AT_MESSAGES, MESSAGES_AT_CHAT } from './translations/cases.ts'

interface Gateway {
  /** Its target file here, and the name by which peers are installed. */
  readonly name: string
  /** What the model of a case is called there. */
  readonly models: Readonly<Record<NonNullable<Case['model']> | 'claude', string>>
}

const PLAIN = { chat: 'chat', reasoner: 'reasoner', thinker: 'thinker', claude: 'claude' }
const WAYBILL: Gateway = { name: 'waybill', models: PLAIN }
const LITELLM: Gateway = { name: 'litellm', models: PLAIN }
const ROUTER: Gateway = {
  name: 'claude-code-router',
  models: {
    chat: 'openai,gpt-4.1-mini',
    reasoner: 'openai,gpt-5-mini',
    thinker: 'openrouter,deepseek/deepseek-r1',
    claude: '',
  },
}
const PORTKEY: Gateway = {
  name: 'portkey',
  models: { chat: '', reasoner: '', thinker: '', claude: 'claude-sonnet-4-5' },
}

const TABLES = [
  {
    title: 'Messages, at a provider of chat',
    path: '/v1/messages',
    cases: MESSAGES_AT_CHAT,
    gateways: [WAYBILL, LITELLM, ROUTER],
    modelOf: ({ models }: Gateway, { model = 'chat' }: Case) => models[model],
  },
  {
    title: 'Chat, at a provider of messages',
    path: '/v1/chat/completions',
    cases: CHAT_AT_MESSAGES,
    gateways: [WAYBILL, LITELLM, PORTKEY],
    modelOf: ({ models }: Gateway) => models.claude,
  },
] as const

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    dir: { type: 'string', default: join(tmpdir(), 'waybill-peers') },
    details: { type: 'string' },
    write: { type: 'boolean', default: false },
  },
})
const here = fileURLToPath(new URL('./translations/', import.meta.url))
const details: unknown[] = []

const witness = await createWitness()
const pages: string[] = []
try {
  for (const table of TABLES) pages.push(await tableOf(table))
} finally {
  await witness.close()
}
if (values.details) writeFileSync(values.details, JSON.stringify(details, null, 1))
console.log(`\n${pages.join('\n\n')}`)
if (values.write) publish(pages.join('\n\n'))

async function tableOf({ title, path, cases, gateways, modelOf }: (typeof TABLES)[number]): Promise<string> {
  const columns: { title: string; outcomes: Outcome[] }[] = []
  for (const gateway of gateways.filter(({ name }) => values.only?.includes(name) ?? true)) {
    const target = readTarget(join(here, `${gateway.name}.yaml`))
    if (gateway !== WAYBILL) {
      const directory = resolve(values.dir, gateway.name)
      const peer = await readPeer(gateway.name)
      if (!install(gateway.name, peer, directory)) continue
      process.env.PATH = [join(directory, peer.bin), process.env.PATH].join(delimiter)
    }
    const started = await start(target, { values: valuesOf(witness), variant: null })
    try {
      const { baseUrl, keys } = started.running
      const key =
        keys.client === null ? {} : { authorization: `Bearer ${keys.client}`, 'x-api-key': keys.client }
      const headers = { 'anthropic-version': '2023-06-01', ...key, ...started.target.headers }
      const outcomes: Outcome[] = []
      for (const one of cases) {
        const place = { url: new URL(path, baseUrl).href, headers, model: modelOf(gateway, one) }
        const outcome = await ask(one, place, witness)
        outcomes.push(outcome)
        const { headers: sentBack, ...seen } = outcome.seen
        details.push({ gateway: gateway.name, path, ...one, ...outcome, seen, headers: [...sentBack] })
      }
      columns.push({ title: `${target.name} ${target.version ?? ''}`.trim(), outcomes })
      console.log(`${title}: ${target.name}: ${summary(outcomes)}`)
    } finally {
      await started.dispose()
    }
  }
  const rows = cases.map(({ what }, n) => [what, ...columns.map(({ outcomes }) => cell(outcomes[n]!))])
  const head = [title, ...columns.map((column) => column.title)]
  const sums = [
    '**kept, changed, lost or refused; told of those not kept**',
    ...columns.map(({ outcomes }) => summary(outcomes)),
  ]
  return [head, head.map(() => '---'), ...rows, sums].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

function cell({ verdict, told }: Outcome): string {
  const said = verdict.replaceAll('|', '\\|')
  if (verdict === 'kept' || verdict.startsWith('refused') || told === null) return said
  const words = told.split(', ').map((word) => `\`${word}\``)
  return `${said}; told: ${words.join(', ')}`
}

function summary(outcomes: readonly Outcome[]): string {
  const count = (begin: string) => outcomes.filter(({ verdict }) => verdict.startsWith(begin)).length
  const other = outcomes.filter(({ verdict }) => verdict !== 'kept')
  const told = other.filter((outcome) => outcome.told !== null).length
  return `${count('kept')}, ${count('changed')}, ${count('lost') + count('refused')}; ${told} of ${other.length}`
}

function publish(text: string): void {
  const file = new URL('../docs/translation.md', import.meta.url)
  const page = readFileSync(file, 'utf8')
  const block = /(<!-- translations:begin -->\n).*?(<!-- translations:end -->)/s
  if (!block.test(page)) throw new Error('docs/translation.md has lost its markers')
  writeFileSync(
    file,
    page.replace(block, (_, begin, end) => `${begin}${text}\n${end}`),
  )
}
