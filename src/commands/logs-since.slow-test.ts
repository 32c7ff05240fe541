// Times that `waybill logs` accepts: relative times, dates and moments. Other times are errors.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { runCli } from '../test/test-cli.ts'
import { ask, testGateway } from '../test/test-gateway.ts'

const logs = (...args: string[]) => runCli(['logs', ...args], { env: { TZ: 'UTC' } })

test('`--since` and `--until` accept a relative time, a date or a timestamp', async (t) => {
  const { url, chat, record } = await testGateway(t)
  await record((await chat(ask('alpha/first'))).headers.get('x-gateway-request-id'))
  await sleep(1_200)
  const between = new Date(Date.now() - 600)
  await record((await chat(ask('alpha/second'))).headers.get('x-gateway-request-id'))
  const models = async (...args: string[]) => {
    const { code, stdout, stderr } = await logs('--url', url, '--json', ...args)
    assert.equal(code, 0, stderr)
    return stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line).resolved_model)
  }
  const day = between.toISOString().slice(0, 10)
  for (const [args, expected] of [
    [
      ['--since', '1h'],
      ['first', 'second'],
    ],
    [
      ['--since', '2d'],
      ['first', 'second'],
    ],
    [['--since', '1w', '--until', '1m'], []],
    [['--until', '1h'], []],
    [['--since', between.toISOString()], ['second']],
    [['--until', between.toISOString()], ['first']],
    [
      ['--since', day],
      ['first', 'second'],
    ],
    [
      ['--since', `${day}T00:00`],
      ['first', 'second'],
    ],
    [
      ['--since', `${day} 00:00:00`],
      ['first', 'second'],
    ],
    [['--until', '2026-01-01'], []],
  ] as const)
    assert.deepEqual(await models(...args), expected, args.join(' '))
})

test('an invalid time causes a one-line error and exit code 2, without a request to the gateway', async () => {
  for (const [args, message] of [
    [
      ['--since', 'yesterday'],
      '--since takes a time ago such as 90s, 15m, 1h, 7d or 2w, a date, or a moment such as 2026-11-21T07:00:00Z, not "yesterday"',
    ],
    [
      ['--until', '1 month'],
      '--until takes a time ago such as 90s, 15m, 1h, 7d or 2w, a date, or a moment such as 2026-11-21T07:00:00Z, not "1 month"',
    ],
    [
      ['--since', '2026-13-45'],
      '--since takes a time ago such as 90s, 15m, 1h, 7d or 2w, a date, or a moment such as 2026-11-21T07:00:00Z, not "2026-13-45"',
    ],
    [['--since', '1h', '--until', '2h'], '--since must be before --until'],
    [['--follow', '--until', '1h'], '--follow shows new calls, so it cannot be combined with --until'],
    [['--limit', '0'], '--limit takes a number from 1 to 200, not "0"'],
    [['--limit', 'all'], '--limit takes a number from 1 to 200, not "all"'],
    [['--status', 'bad'], '--status takes ok, error or an HTTP status, not "bad"'],
    [
      ['--url', 'localhost:4949'],
      '--url takes an address such as http://127.0.0.1:4949, not "localhost:4949"',
    ],
  ] as const) {
    const { code, stdout, stderr } = await logs(...args)
    assert.deepEqual([code, stdout, stderr], [2, '', `waybill: ${message}\n`])
  }
})
