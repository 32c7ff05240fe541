// Entries for tests: recordings, the mock providers that answer from them, and the conformance suite.
import { InvalidArgumentError, Option } from 'commander'
import {
  type CommandEntry,
  commaList,
  example,
  GATEWAY_KEY,
  GATEWAY_URL,
  portNumber,
  portText,
} from './entry.ts'

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

/**
 * Names of profiles. The names are not read from the profiles' files, because every command loads this
 * module.
 */
const PROFILE_NAMES = 'core, observable, waybill, server, claude-code, codex, open-responses'

export const addConform: CommandEntry = (program, { finish }) => {
  const suite = program
    .command('conform [target]')
    .description(
      'test a gateway against the contract; the target is a target file, its name, an address, or NAME@VERSION',
    )
    .option('--install', 'with NAME@VERSION: install this version from npm or PyPI in a scratch directory')
    .option('--list', 'print every requirement with its level and scope, and exit')
    .option('--profile <name>', `one of ${PROFILE_NAMES}`, 'core')
    .option(
      '--set <version>',
      'the frozen set of requirements that decides; default: the set of this version',
    )
    .option('--live', 'with --profile server: make the announced calls; they may cost money')
    .option(
      '--stress',
      'with --profile server: also send hostile bodies and simultaneous calls to a server on another machine',
    )
    .option(
      '--dialects <name...>',
      'with --profile server and an address: chat (the default), messages, responses, gemini, embeddings, images',
      commaList,
    )
    .option('--window <tokens>', 'with --profile server and an address: the window of the model')
    .option('--only <id...>', 'only these requirements', commaList)
    .option('--quick', 'watch idle time for seconds instead of a minute; the result is partial')
    .option('--report <dir>', 'write evidence and reports there')
    .option('--time-limit <minutes>', 'end the run after this time (60)')
    .option('--baseline <file>', 'file with known failures')
    .option('--compare <dir>', 'report of an earlier run; print improvements and regressions')
    .option(
      '--model <id>',
      'with an address: a model that the gateway sends to the mock, or that the server answers for',
    )
    .option('--key-env <name>', 'with an address: environment variable with its key')
    .option('--mock-port <port>', 'with an address: port of the mock')
    .option('--mock-host <address>', 'address of this machine that the mock listens on (127.0.0.1)')
    .option('--mock-name <name>', 'name by which the gateway reaches the mock')
    .option('--mock-tls', 'the mock speaks TLS; {{mock.ca}} is the certificate to trust')
    .addHelpText('after', example('waybill conform my-gateway.yaml --profile core --report report'))
    .action(async (target, { list, ...options }, command) => {
      if (list) return (await import('../explain.ts')).printRequirements()
      if (target === undefined) command.error("error: missing required argument 'target'")
      finish(await (await import('../conform.ts')).conformCommand({ target, ...options }))
    })
  suite
    .command('explain <id...>')
    .description('why a requirement matters, how it is tested, and what usually causes a failure')
    .addHelpText('after', example('waybill conform explain FLOW-06'))
    .action(async (ids) => finish((await import('../explain.ts')).explainRequirements(ids)))
}

export const addTarget: CommandEntry = (program, { finish }) => {
  const target = program
    .command('target')
    .description('write and check target files, which describe a gateway to the conformance suite')
  target
    .command('check <file>')
    .description(
      'check a target file; if it is valid, start the gateway, make one call, and print the results and the requirements that apply',
    )
    .option('--profile <name>', 'core, observable or waybill', 'observable')
    .option('--mock-host <address>', 'address of this machine that the mock listens on (127.0.0.1)')
    .option('--mock-name <name>', 'name by which the gateway reaches the mock')
    .option('--mock-tls', 'the mock speaks TLS; {{mock.ca}} is the certificate to trust')
    .addHelpText('after', example('waybill target check my-gateway.yaml'))
    .action(async (file, options) => finish(await (await import('../target-init.ts')).check(file, options)))
  target
    .command('init [file]')
    .description('ask how a gateway is started and what it reports, try it, and write a target file')
    .option('--start <command>', 'a command, with {{port}} and {{mock.openai.base_url}}, or an address')
    .option('--call <model>', 'the model to call')
    .option(
      '--file <file...>',
      'a file that it needs, as NAME=TEXT or NAME=@PATH, with {{mock.openai.base_url}}; the gateway runs beside it',
    )
    .option('--key-env <name>', 'environment variable with the key that its clients send, if it asks for one')
    .option('--name <name>', 'name of the gateway in reports; default: its program or address')
    .option('--header <header...>', 'a header that each request needs, as NAME: VALUE')
    .option(
      '--headers <list>',
      'response headers with provider, model, request_id and session: NAME=HEADER,…',
    )
    .option('--ready <path>', 'path that answers 200 when the gateway is ready; default: the first of --read')
    .option('--wait <seconds>', 'time until a gateway that the command starts must be ready (300)')
    .option('--log <path>', 'path of its log of calls')
    .option('--read <paths>', 'other paths that cost nothing, separated by commas (/v1/models)')
    .addHelpText(
      'after',
      example('waybill target init my-gateway.yaml --start http://127.0.0.1:8080 --call gpt-6-luna'),
    )
    .action(async (file = 'target.yaml', options) =>
      finish(await (await import('../target-init.ts')).initTarget(file, options)),
    )
}

export const addJudge: CommandEntry = (program, { finish }) => {
  program
    .command('judge <dir>')
    .description('compute the verdicts of a run again from its evidence')
    .option('--report <dir>', 'write new reports there')
    .option('--baseline <file>', 'file with known failures')
    .option('--compare <dir>', 'report of an earlier run; print improvements and regressions')
    .option('--pack <dir>', 'write the run and its evidence there, for a submission')
    .addHelpText('after', example('waybill judge report --pack submission'))
    .action(async (directory, options) => {
      finish((await import('../conform.ts')).judgeCommand(directory, options))
    })
}
