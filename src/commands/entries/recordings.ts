// Entries for recordings, and for the mock providers that answer from them.
import { Option } from 'commander'
import { type CommandEntry, example, portNumber, portText } from './entry.ts'

export const addRecord: CommandEntry = (program, { env, config }) => {
  program
    .command('record')
    .description('run the gateway against a live provider and keep redacted recordings; costs money')
    .requiredOption('--provider <name>', 'the provider whose exchanges are recorded')
    .option(...config)
    .option('--out <dir>', 'where recordings are written', 'recordings')
    .option('-p, --port <number>', 'port to listen on; default: from the configuration', portText)
    .option('--scenario <name>', 'name of what is recorded; default: plain, tools or the status')
    .option('--canary <text...>', 'texts from your prompts that must not appear in what is written')
    .option('--keep-answers', 'keep what the models said, and requests as keyed digests that find it again')
    .option('--keep-text', 'keep the texts of the requests, too, so that people can read them')
    .addHelpText('after', example('waybill record --provider openai --out recordings --keep-answers'))
    .action(async (options) => (await import('../record.ts')).record({ ...options, env }))
}

export const addRecordings: CommandEntry = (program) => {
  const recordings = program
    .command('recordings')
    .description('list, check and import recordings; calls no provider')
  recordings
    .command('list [dir]')
    .description('list the recordings in a directory, or those of the package')
    .option('--json', 'print JSON instead of a table')
    .addHelpText('after', example('waybill recordings list recordings --json'))
    .action(async (dir, options) => (await import('../recordings.ts')).listRecordings({ dir, ...options }))
  recordings
    .command('verify [dir]')
    .description(
      'check recordings: their format, and that nothing private is left in them; exit code 1 if not',
    )
    .option('--older-than <months>', 'warn of recordings older than this')
    .addHelpText('after', example('waybill recordings verify recordings --older-than 12'))
    .action(async (dir, options) => (await import('../recordings.ts')).verify({ dir, ...options }))
  recordings
    .command('import <files...>')
    .description('turn vcrpy, Ruby VCR, go-vcr, HAR and httpmock files into redacted recordings')
    .requiredOption('--out <dir>', 'where recordings are written')
    .option('--provider <name>', 'provider of the recordings, for files that name no host (httpmock)')
    .option('--keep-answers', 'keep what the models said, and requests as keyed digests that find it again')
    .option('--keep-text', 'keep the texts of the requests, too, so that people can read them')
    .addHelpText('after', example('waybill recordings import cassettes/*.yaml --out recordings'))
    .action(async (files, options) => (await import('../recordings.ts')).importFiles({ files, ...options }))
}

export const addMock: CommandEntry = (program) => {
  program
    .command('mock')
    .description('run mock providers on a local port, with a ledger of what arrives')
    .option('-p, --port <number>', 'port to listen on; 0 picks a free one', portNumber, 4950)
    .option(
      '--control-port <number>',
      'port of the ledger and of scripts; 0 picks a free one',
      portNumber,
      4951,
    )
    .option('--host <address>', 'address to listen on; the control port stays on 127.0.0.1', '127.0.0.1')
    .option('--recordings <dir>', 'recordings to answer from; default: those of the package')
    .option('--similar', 'with --recordings: let the nearest one answer if its last message is the same')
    .option('--invent', 'with --recordings: make up an answer if there is no recording; default: an error')
    .option('--lenient', 'let pass what the requested model would refuse, and models that do not exist')
    .addOption(
      new Option('--pace <pace>', 'how fast answers come').choices(['recorded', 'none']).default('none'),
    )
    .option('--json', 'print addresses and keys as one line of JSON')
    .option('--list', 'print the scenarios and exit')
    .addHelpText('after', example('waybill mock --port 4950 --pace recorded'))
    .action(async (options) => (await import('../mock.ts')).mock(options))
}
