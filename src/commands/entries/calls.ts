// Entries for reading the record of calls.
import { Argument, type Command, InvalidArgumentError, Option } from 'commander'
import { USAGE_KEYS } from '../../store/reads.ts'
import { type CommandEntry, commaList, example, GATEWAY_KEY, GATEWAY_URL } from './entry.ts'

export const addLogs: CommandEntry = (program, { env, config }) => {
  filtered(
    program
      .command('logs')
      .description(
        'show the newest calls of a running gateway, newest last; with --follow, also each new call as it ends',
      )
      .option('-f, --follow', 'keep running until Ctrl-C')
      .option('-n, --limit <number>', 'number of calls to show first, 1 to 200', '20')
      .option('--json', 'print each record as a line of JSON instead of a table')
      .option(...config)
      .option(...GATEWAY_URL)
      .option(...GATEWAY_KEY),
  )
    .addHelpText('after', example('waybill logs --since 1h --status error'))
    .action(async ({ session, provider, model, route, client, purpose, status, ...options }) => {
      const filters = { session_id: session, provider, model, route, client, purpose, status }
      await (await import('../logs.ts')).logs({ ...options, filters, env })
    })
}

export const addSessions: CommandEntry = (program, { env, config }) => {
  program
    .command('sessions')
    .description('list the sessions of a running gateway with their calls, tokens and cost')
    .option('-n, --limit <number>', 'number of sessions, 1 to 200', '20')
    .addOption(new Option('--order <order>', 'the first ones').choices(['newest', 'cost']).default('newest'))
    .option('--json', 'print JSON instead of a table')
    .option(...config)
    .option(...GATEWAY_URL)
    .option(...GATEWAY_KEY)
    .addHelpText('after', example('waybill sessions --order cost'))
    .action(async (options) => (await import('../lists.ts')).printSessions({ ...options, env }))
}

export const addSteps: CommandEntry = (program, { env, config }) => {
  program
    .command('steps')
    .description(
      'show a session call by call: what was new in each, who answered, tokens, cost and time, and why the dearest calls cost that much; reads only',
    )
    .argument('<session>', 'the id of the session, as in `waybill sessions`')
    .option('--full', 'print texts whole; default: their first 100 characters')
    .option('--forget', 'delete the kept bodies of the session instead; its record stays')
    .option('--json', 'print JSON instead of text')
    .option(...config)
    .option(...GATEWAY_URL)
    .option(...GATEWAY_KEY)
    .addHelpText('after', example('waybill steps 5f0c61f0-7c1d-4a9e-9d53-2b8f0e6a1c77'))
    .action(async (session, options) =>
      (await import('../steps.ts')).printSteps({ session, ...options, env }),
    )
}

export const addFork: CommandEntry = (program, { env, config }) => {
  program
    .command('fork')
    .description(
      'send a kept call again to other models, and compare the answers; without --live, prints the highest possible cost and sends nothing',
    )
    .argument('<session>', 'the id of the session, or of the call itself without a step')
    .argument('[step]', 'the number of the step, as in `waybill steps`', stepIn)
    .requiredOption('--model <id>', 'a model or a route to ask; repeat it for more', commaList)
    .option('--times <number>', 'how often each is asked, 1 to 100', timesIn, 1)
    .option('--live', 'send the calls; costs money')
    .option('--whatif', 'price the tokens of the call at the other models instead; sends nothing')
    .option('--keep', 'keep the bodies of the new calls, too')
    .option('--json', 'print JSON instead of tables')
    .option(...config)
    .option(...GATEWAY_URL)
    .option(...GATEWAY_KEY)
    .addHelpText(
      'after',
      example('waybill fork 5f0c61f0-7c1d-4a9e-9d53-2b8f0e6a1c77 5 --model auto/cheap --live'),
    )
    .action(async (call, step, options) => (await import('../fork.ts')).fork({ call, step, ...options, env }))
}

/** Parses the number of a step; throws for other text. */
function stepIn(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It is a number from 1 on.')
  return Number(text)
}

/** Parses how often a call is repeated; throws for other text. */
function timesIn(text: string): number {
  if (!/^\d{1,3}$/.test(text) || Number(text) < 1 || Number(text) > 100)
    throw new InvalidArgumentError('It is a number from 1 to 100.')
  return Number(text)
}

export const addDiff: CommandEntry = (program, { env, config }) => {
  program
    .command('diff')
    .description(
      'find the first step at which two sessions differ, such as a branch and its origin, and what each cost from there; reads only',
    )
    .argument('<a>', 'the id of a session')
    .argument('<b>', 'the id of the other')
    .option('--json', 'print JSON instead of text')
    .option(...config)
    .option(...GATEWAY_URL)
    .option(...GATEWAY_KEY)
    .addHelpText('after', example('waybill diff 5f0c61f0-7c1d-4a9e fork-0193d0c2-11aa'))
    .action(async (a, b, options) => (await import('../diff.ts')).printDiff({ a, b, ...options, env }))
}

export const addCostSums: CommandEntry = (program, { env, config }) => {
  program
    .command('costs')
    .description(
      'show what the calls of a running gateway cost today, this month or between two times, and by whom; with the spending of budgets, and at this pace',
    )
    .addArgument(
      new Argument('[of]', 'today or this month, as the days of this machine').choices(['today', 'month']),
    )
    .addOption(new Option('--by <name>', 'a line for each').choices(['day', ...USAGE_KEYS]).default('model'))
    .option('--since <time>', 'from then instead: 15m, 1h, 7d, a date, or a date with a time')
    .option('--until <time>', 'only calls before then, in the same forms; default: now')
    .option('--json', 'print JSON instead of tables')
    .option(...config)
    .option(...GATEWAY_URL)
    .option(...GATEWAY_KEY)
    .addHelpText('after', example('waybill costs month --by key'))
    .action(async (of, options) => (await import('../costs.ts')).printCosts({ of, ...options, env }))
}

export const addExport: CommandEntry = (program, { env, config }) => {
  filtered(
    program
      .command('export')
      .description('write all matching calls to stdout, newest first')
      .addOption(
        new Option(
          '--form, --format <form>',
          'CSV, whole records as JSON, or CSV with the columns of FOCUS 1.2',
        )
          .choices(['csv', 'json', 'focus'])
          .default('csv'),
      )
      .option('--columns <list>', 'columns of the CSV, separated by commas; default: all')
      .option(...config)
      .option(...GATEWAY_URL)
      .option(...GATEWAY_KEY),
  )
    .addHelpText('after', example('waybill export --since 30d > calls.csv'))
    .action(
      async ({ session, provider, model, route, client, purpose, status, format: form, ...options }) => {
        const filters = { session_id: session, provider, model, route, client, purpose, status }
        await (await import('../logs.ts')).exportCalls({ ...options, form, filters, env })
      },
    )
}

export const addReconcile: CommandEntry = (program, { env, config, finish }) => {
  program
    .command('reconcile')
    .description(
      "compare the record with a provider's own report, by day (UTC) and model; needs a key that may read the report, and causes no inference",
    )
    .argument('<report>', 'whose report: anthropic, openai or openrouter')
    .option('--report <file>', 'a saved report instead, as JSON or CSV')
    .option('--provider <name>', 'the provider in the configuration; default: the name of the report')
    .option('--since <day>', 'the first day; default: 30 days ago, or the first day of a saved report')
    .option(
      '--until <day>',
      'the day after the last compared day; default: today, or the end of a saved report',
    )
    .option('--tolerance <usd>', 'a difference in US dollars that counts as rounding', '0.01')
    .option('--base-url <url>', "instead of the provider's own address")
    .option('--json', 'print all lines as JSON')
    .option(...config)
    .addHelpText('after', example('waybill reconcile anthropic --since 2026-11-01'))
    .action(async (name, options) =>
      finish(await (await import('../reconcile.ts')).reconcile({ name, ...options, env })),
    )
}

export const addWhatIf: CommandEntry = (program, { env, config }) => {
  program
    .command('whatif')
    .description(
      'estimate what the calls on record would have cost on another route, or with the prices of another configuration; causes no inference',
    )
    .requiredOption('--route <name>', 'the route, or a provider/model')
    .option('--since <time>', 'only calls since then: 15m, 1h, 7d, a date, or a date with a time', '30d')
    .option('--until <time>', 'only calls before then, in the same forms')
    .option('--data <directory>', 'the record; default: that of the configuration')
    .option('--direct', 'reprice also calls that named a fixed model')
    .option('--json', 'print JSON')
    .option(...config)
    .addHelpText('after', example('waybill whatif --route auto --since 30d'))
    .action(async (options) => (await import('../costs.ts')).printWhatIf({ ...options, env }))
}

/** Adds the options that filter a list of calls. */
const filtered = (command: Command): Command =>
  command
    .option('--session <id>', 'only this session')
    .option('--provider <name>', 'only this provider')
    .option('--model <id>', 'only this model of a provider')
    .option('--route <name>', 'only this route')
    .option('--client <name>', 'only this program: its name as shown, or its whole User-Agent')
    .option('--purpose <purpose>', 'only this purpose: main, background, subagent or compaction')
    .option('--status <status>', 'ok, error or an HTTP status')
    .option('--since <time>', 'only calls since then: 15m, 1h, 7d, a date, or a date with a time')
    .option('--until <time>', 'only calls before then, in the same forms')
