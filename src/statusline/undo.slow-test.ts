// The undo command printed by `install` undoes the installation, for each client and each place.
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { runCli } from '../test/test-cli.ts'
import { temporaryDirectory } from '../test/test-gateway.ts'

const PLACES: readonly (readonly [options: string, file: string])[] = [
  ['', 'home/.claude/settings.json'],
  ['--scope project', 'project/.claude/settings.json'],
  ['--scope local', 'project/.claude/settings.local.json'],
  ['--subagents', 'home/.claude/settings.json'],
  ['--subagents --scope project', 'project/.claude/settings.json'],
  ['--client copilot', 'home/.copilot/settings.json'],
  ['--client copilot --scope project', 'project/.github/copilot/settings.json'],
  ['--client copilot --scope local', 'project/.github/copilot/settings.local.json'],
  ['--client qwen', 'home/.qwen/settings.json'],
  ['--client qwen --scope project', 'project/.qwen/settings.json'],
]

for (const [options, file] of PLACES)
  test(`the undo command printed by install ${options} removes the line`, async (t) => {
    const directory = temporaryDirectory(t)
    const [home, cwd, path] = ['home', 'project', file].map((name) => join(directory, name)) as [
      string,
      string,
      string,
    ]
    mkdirSync(join(path, '..'), { recursive: true })
    mkdirSync(cwd, { recursive: true })
    writeFileSync(path, '{ "own": 1 }\n')
    const waybill = (line: string) => runCli(line.split(' ').filter(Boolean), { cwd, env: { HOME: home } })
    const sh = options.includes('--subagents') ? '' : '--sh'
    const { code, stdout, stderr } = await waybill(`statusline install ${sh} ${options}`)
    assert.equal(code, 0, stderr)
    assert.notEqual(readFileSync(path, 'utf8'), '{ "own": 1 }\n')
    const undo = /`waybill (statusline uninstall[^`]*)`/.exec(stdout)?.[1]
    assert.ok(undo, stdout)
    assert.equal((await waybill(undo)).code, 0)
    assert.equal(readFileSync(path, 'utf8'), '{ "own": 1 }\n')
    const page = /docs\/[\w/.-]+\.md/.exec(stdout)?.[0]
    if (page) {
      const text = readFileSync(join(import.meta.dirname, '../..', page), 'utf8')
      assert.match(text, /customHeaders|X-Gateway-Session-Id/i, `${page} shows the header`)
    }
    assert.equal(existsSync(path), true)
  })
