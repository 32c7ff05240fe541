// Entries for recordings, and for the mock providers that answer from them.
import { InvalidArgumentError, Option } from 'commander'
import { type CommandEntry, example, GATEWAY_KEY, GATEWAY_URL, portNumber, portText } from './entry.ts'

export const addRecord: CommandEntry = (program, { env, config, finish }) => {
  program
    .command('record')
    .description(
      'run the gateway with live providers and write redacted recordings, of one program or until it is stopped; costs money',
    )
    .argument(
      '[program]',
      'an agent or a test suite whose calls are recorded, with answers; put -- before it',
    )
    .argument('[args...]', 'its own arguments, passed on unchanged')
    .passThroughOptions()
    .option('--provider <name>', 'the only provider whose exchanges are recorded; default: all')
    .option(...config)
    .option(...GATEWAY_KEY)
    .option('--model <id>', 'the model that the agent asks for, as in `waybill run`')
    .option('--out <dir>', 'directory for the recordings', 'recordings')
    .option(
      '-p, --port <number>',
      'port to listen on; default: from the configuration, with a program a free one',
      portText,
    )
    .option('--scenario <name>', 'name of the recorded scenario; default: plain, tools or the status')
    .option('--canary <text...>', 'texts from your prompts that must not appear in recordings')
    .option('--keep-answers', 'keep the models’ answers; requests are stored only as keyed digests')
    .option('--keep-text', 'also keep the texts of the requests, so that people can read them')
    .option('--keep-requests', 'also keep the whole requests, so that `recordings drift` can repeat them')
    .addHelpText('after', example('waybill record --out recordings -- claude -p "Fix the tests"'))
    .action(async (name, args, options) =>
      finish(
        await (await import('../record.ts')).record({
          ...options,
          ...(name !== undefined && { program: { program: name, args } }),
          env,
        }),
      ),
    )
}

export const addReplay: CommandEntry = (program, { env, config, finish }) => {
  program
    .command('replay')
    .description(
      'run an agent or a test suite on recordings of its calls, or with --until on a kept session: no network, no cost; exit code 1 if a call has no recording, or differs from its step',
    )
    .argument(
      '<program...>',
      'the program and its own arguments; put -- before it, and with --until the session before --',
    )
    .option(...config)
    .option(...GATEWAY_URL)
    .option(...GATEWAY_KEY)
    .option('--recordings <dir>', 'directory of the recordings', 'recordings')
    .option('--model <id>', 'the model that the agent asks for, as in `waybill run`')
    .option('--until <step>', 'answer from the kept session up to this step of `waybill steps`')
    .option('--live', 'with --until: send the calls after this step, which costs money')
    .option('--similar', 'let the nearest recording answer if its last message is the same')
    .option('-p, --port <number>', 'port of the gateway; default: a free one', portText)
    .addHelpText('after', example('waybill replay --recordings recordings -- claude -p "Fix the tests"'))
    .action(async ([first, ...words]: [string, ...string[]], options) => {
      if (options.until === undefined) {
        const given = { ...options, program: first, args: words, env }
        finish(await (await import('../replay-program.ts')).replayProgram(given))
      } else finish(await (await import('../branch.ts')).branch({ ...options, words, kept: first, env }))
    })
}

export const addRecordings: CommandEntry = (program, { env, config }) => {
  const recordings = program
    .command('recordings')
    .description('list, check, import, compare and renew recordings; only `drift --live` calls a provider')
  recordings
    .command('list [dir]')
    .description('list the recordings in a directory, or those of the package')
    .option('--json', 'print JSON instead of a table')
    .addHelpText('after', example('waybill recordings list recordings --json'))
    .action(async (dir, options) => (await import('../recordings.ts')).listRecordings({ dir, ...options }))
  recordings
    .command('verify [dir]')
    .description('check that recordings are valid and contain nothing private; exit code 1 if not')
    .option('--older-than <months>', 'warn of recordings older than this')
    .addHelpText('after', example('waybill recordings verify recordings --older-than 12'))
    .action(async (dir, options) => (await import('../recordings.ts')).verify({ dir, ...options }))
  recordings
    .command('import <files...>')
    .description(
      'turn files of vcrpy, VCR (Ruby, R), go-vcr, HAR, nock, httpmock, WireMock and Datadog’s test agent into redacted recordings; also folders and patterns',
    )
    .requiredOption('--out <dir>', 'directory for the recordings')
    .option(
      '--provider <name>',
      'provider of the recordings, for files that name no host (httpmock, WireMock)',
    )
    .option('--canary <text...>', 'credentials or texts that must not appear in recordings')
    .option('--keep-answers', 'keep the models’ answers; requests are stored only as keyed digests')
    .option('--keep-text', 'also keep the texts of the requests, so that people can read them')
    .option('--keep-requests', 'also keep the whole requests, so that `recordings drift` can repeat them')
    .addHelpText('after', example('waybill recordings import cassettes/*.yaml --out recordings'))
    .action(async (files, options) => (await import('../recordings.ts')).importFiles({ files, ...options }))
  recordings
    .command('drift [dir]')
    .description(
      'repeat the recorded requests, and list the changes in the format of each answer; exit code 1 if there are any; costs money with --live',
    )
    .option('--live', 'send the calls; without this option, only their cost is printed')
    .option('--limit <usd>', 'stop before a call that would exceed this sum, US dollars', dollars, 1)
    .option('--with <dir>', 'compare with newer recordings instead; makes no calls')
    .option(...config)
    .addHelpText('after', example('waybill recordings drift recordings --live --limit 0.50'))
    .action(async (dir = 'recordings', options) =>
      (await import('../drift.ts')).drift({ dir, ...options, env }),
    )
  recordings
    .command('refresh [dir]')
    .description('replace recorded answers by the answers that `recordings drift --live` received')
    .option('--only <names...>', 'only these recordings')
    .addHelpText(
      'after',
      example('waybill recordings refresh recordings --only openai/chat-completions-plain'),
    )
    .action(async (dir = 'recordings', options) => (await import('../drift.ts')).refresh({ dir, ...options }))
}

/** Parses an amount of US dollars. */
function dollars(text: string): number {
  const usd = Number(text)
  if (!(usd > 0)) throw new InvalidArgumentError('expected an amount of US dollars, such as 0.50.')
  return usd
}

export const addMock: CommandEntry = (program) => {
  program
    .command('mock')
    .description('run mock providers on a local port, with a ledger of received requests')
    .option('-p, --port <number>', 'port to listen on; 0 picks a free one', portNumber, 4950)
    .option(
      '--control-port <number>',
      'port of the ledger and of scripts; 0 picks a free one',
      portNumber,
      4951,
    )
    .option('--host <address>', 'address to listen on; the control port stays on 127.0.0.1', '127.0.0.1')
    .option('--recordings <dir>', 'recordings to answer from; default: those of the package')
    .option(
      '--similar',
      'with --recordings: answer from the nearest recording if its last message is the same',
    )
    .option('--invent', 'with --recordings: invent an answer if there is no recording; default: an error')
    .option(
      '--lenient',
      'accept requests that the requested model would refuse, and models that do not exist',
    )
    .addOption(
      new Option('--pace <pace>', 'how fast answers come').choices(['recorded', 'none']).default('none'),
    )
    .option(
      '--chaos <numbers>',
      'errors, cuts, slowness and pace by numbers: errors=0.1,cuts=0.05,first_token_ms=300,seed=7',
      numbersIn,
    )
    .option(
      '--deviations <names>',
      'answer as real providers deviate: chat/id-per-fragment,chat/word-error or, in an order of its own, seed:7',
      deviationsIn,
    )
    .option('--json', 'print addresses and keys as one line of JSON')
    .option('--list', 'print the scenarios and exit')
    .addHelpText('after', example('waybill mock --port 4950 --pace recorded'))
    .action(async (options) => (await import('../mock.ts')).mock(options))
}

/** Parses `chat/id-per-fragment,chat/word-error` or `seed:7`; throws if the seed is none. The mock knows the names. */
function deviationsIn(text: string): string[] | { seed: number } {
  if (!text.startsWith('seed:')) return text.split(',').map((name) => name.trim())
  if (!/^seed:\d{1,9}$/.test(text)) throw new InvalidArgumentError('a seed is a whole number: seed:7.')
  return { seed: Number(text.slice('seed:'.length)) }
}

/** Parses `errors=0.1,seed=7`; throws if it is malformed. The mock knows the names. */
function numbersIn(text: string): Record<string, number> {
  const pairs = text.split(',').map((pair) => /^(\w+)=(\d+(?:\.\d+)?)$/.exec(pair))
  const wrong = pairs.indexOf(null)
  if (wrong >= 0) throw new InvalidArgumentError(`"${text.split(',')[wrong]}" is not NAME=NUMBER.`)
  return Object.fromEntries(pairs.map((pair) => [pair![1]!, Number(pair![2])]))
}
