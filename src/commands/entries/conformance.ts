// Entries for the conformance suite.
import { type CommandEntry, commaList, example } from './entry.ts'

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
