import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { findKey } from '../terminal/keys.ts'
import { ask, temporaryDirectory, testGateway } from '../test/test-gateway.ts'
import { keyNew } from './gateway-keys.ts'
import { commandLine, run } from './program.ts'

const terminal = (isTTY: boolean) => ({
  isTTY,
  text: '',
  write(part: string) {
    this.text += part
  },
})

test('a new key is private and never shown, and works once its line is in the configuration (KEEP-01)', async (t) => {
  const home = temporaryDirectory(t)
  const out = terminal(true)
  keyNew({ name: '007', role: 'client', env: { HOME: home }, out })
  const file = join(home, '.config', 'waybill', 'keys', '007')
  assert.ok(out.text.includes(file))
  assert.equal(statSync(file).mode & 0o777, 0o600)
  for (const directory of ['', 'keys']) {
    const { mode } = statSync(join(home, '.config', 'waybill', directory))
    assert.equal(mode & 0o777, 0o700)
  }
  const key = readFileSync(file, 'utf8').trim()
  assert.match(key, /^wb_[\w-]{43}$/)
  assert.ok(!out.text.includes(key.slice(3)))
  assert.deepEqual(findKey({}, file), { key, problem: null }, 'the status line takes the file as it is')

  const yaml = out.text.slice(out.text.indexOf('keys:'))
  assert.equal(parse(yaml).keys[0].name, '007')
  const gateway = await testGateway(t, {
    config: `routes: { auto: { targets: [ { model: alpha/m } ] } }\n${yaml}`,
  })
  assert.equal((await gateway.chat(ask('auto'), { authorization: `Bearer ${key}` })).status, 200)
  assert.equal((await gateway.chat(ask('auto'), { authorization: `Bearer ${key}x` })).status, 401)
})

test('every new key is different, and no key overwrites another key', (t) => {
  const env = { XDG_CONFIG_HOME: temporaryDirectory(t) }
  const make = (name: string, file?: string) => {
    const out = terminal(false)
    keyNew({ name, role: 'admin', env, out, ...(file && { file }) })
    return out.text
  }
  const file = join(env.XDG_CONFIG_HOME, 'waybill', 'keys', 'a')
  assert.match(make('a'), /role: admin/)
  const first = readFileSync(file, 'utf8')
  assert.throws(() => make('a'), /already exists; use another name/)
  assert.equal(readFileSync(file, 'utf8'), first)
  const elsewhere = join(env.XDG_CONFIG_HOME, 'else', 'where')
  make('a', elsewhere)
  assert.notEqual(readFileSync(elsewhere, 'utf8'), first)
  assert.throws(() => make('a', join(elsewhere, 'below')), /EEXIST|ENOTDIR/)
})

test('a key is shown only on a terminal, and is not created if it cannot be shown', (t) => {
  const env = { XDG_CONFIG_HOME: temporaryDirectory(t) }
  const file = join(env.XDG_CONFIG_HOME, 'waybill', 'keys', 'a')
  assert.throws(
    () => keyNew({ name: 'a', role: 'client', print: true, env, out: terminal(false) }),
    /--print shows the key on a terminal only/,
  )
  assert.throws(() => statSync(file), /ENOENT/)
  const out = terminal(true)
  keyNew({ name: 'a', role: 'client', print: true, env, out })
  assert.ok(out.text.includes(readFileSync(file, 'utf8').trim()))
})

test('no command accepts a key as an argument (KEEP-06)', async () => {
  const commands = (of: ReturnType<typeof commandLine>): ReturnType<typeof commandLine>[] => [
    of,
    ...of.commands.flatMap(commands),
  ]
  const all = commands(commandLine({}))
  assert.ok(all.length >= 10, 'there are commands to look at')
  const SECRET = /key|token|secret|password|auth|bearer|credential/i
  for (const command of all) {
    for (const { flags, attributeName } of command.options.map((option) => ({
      flags: option.flags,
      attributeName: option.attributeName(),
    })))
      if (SECRET.test(attributeName))
        assert.match(flags, /^--[\w-]+-(file <file>|env <name>)$/, `${command.name()} ${flags}`)
    for (const argument of command.registeredArguments)
      assert.doesNotMatch(argument.name(), SECRET, `${command.name()} ${argument.name()}`)
  }
  for (const args of [
    ['serve', '--key', 'wb_x'],
    ['key', 'new', 'a', '--key', 'wb_x'],
    ['key', 'new', 'a', 'wb_x'],
    ['statusline', 'doctor', '--key', 'wb_x'],
    ['key', 'new', '../a'],
    ['key', 'new', 'a', '--role', 'root'],
  ])
    assert.equal(await run(args, {}), 2, args.join(' '))
})
