// Output of `waybill completion`, run in the shells themselves.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { CLI } from '../test/test-cli.ts'
import { completion, type Shell } from './completion.ts'
import { commandLine } from './program.ts'

const EXAMPLE = join(import.meta.dirname, '../../examples/waybill.yaml')

const script = (shell: Shell): string => completion(commandLine({}), shell)
const isThere = (shell: Shell): boolean => spawnSync(shell, ['-c', 'true']).status === 0

const LINES: readonly [string, readonly string[]][] = [
  ['waybill rec', ['record', 'recordings', 'reconcile']],
  ['waybill recordings ', ['list', 'verify', 'import', 'drift', 'refresh', '--help']],
  ['waybill recordings import --pro', ['--provider']],
  ['waybill recordings import some.yaml --ou', ['--out']],
  ['waybill serve --rep', ['--replay']],
  ['waybill key new ann --ro', ['--role']],
  ['waybill run cl', ['claude']],
  ['waybill run -- co', ['codex', 'copilot']],
  ['waybill routes auto/c', ['auto/cheap', 'auto/code']],
  ['waybill models list groq/', ['groq/openai/gpt-oss-120b']],
  ['waybill run --model auto/c', ['auto/cheap', 'auto/code']],
]
/** A shell function in place of the installed command, which only lists names. */
const ENV = { ...process.env, WAYBILL_CONFIG: EXAMPLE, NODE: process.execPath, CLI }

test('bash completes commands, options, agents and models', {
  skip: !isThere('bash') && 'there is no bash',
}, () => {
  for (const [line, expected] of LINES) {
    const asked = line.split(' ')
    const { stdout, stderr } = spawnSync(
      'bash',
      [
        '--norc',
        '-c',
        `${script('bash')}\nwaybill() { "$NODE" "$CLI" "$@"; }\nCOMP_WORDS=(${asked.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${asked.length - 1}; _waybill; echo "\${COMPREPLY[@]}"`,
      ],
      { encoding: 'utf8', env: ENV },
    )
    assert.deepEqual([stdout.trim().split(' '), stderr], [expected, ''], line)
  }
})

test('fish completes the same words as bash', { skip: !isThere('fish') && 'there is no fish' }, () => {
  for (const [line, expected] of LINES) {
    const { stdout, stderr } = spawnSync(
      'fish',
      [
        '--no-config',
        '-c',
        `${script('fish')}\nfunction waybill; $NODE $CLI $argv; end\ncomplete -C '${line}'`,
      ],
      {
        encoding: 'utf8',
        env: ENV,
      },
    )
    const found = stdout.split('\n').flatMap((row) => row.split('\t')[0] || [])
    // bash offers options after a dash.
    assert.deepEqual([found.sort(), stderr], [expected.filter((word) => word !== '--help').sort(), ''], line)
  }
})

test('zsh loads the script and registers the completion', {
  skip: !isThere('zsh') && 'there is no zsh',
}, () => {
  const { stdout, stderr } = spawnSync('zsh', ['-f', '-c', `${script('zsh')}\necho $_comps[waybill]`], {
    encoding: 'utf8',
  })
  assert.match(stdout, /_waybill/)
  assert.equal(stderr, '')
})
