// Programs on Windows as npm and pnpm install them, in a simulated file system.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findProgram, type ProgramSystem } from './agent-launch.ts'

const NPM = String.raw`@ECHO off
GOTO start
:find_dp0
SET dp0=%~dp0
EXIT /b
:start
SETLOCAL
CALL :find_dp0
IF EXIST "%dp0%\node.exe" (
  SET "_prog=%dp0%\node.exe"
) ELSE (
  SET "_prog=node"
)
endLocal & goto #_undefined_# 2>NUL || title %COMSPEC% & "%_prog%"  "%dp0%\node_modules\an-agent\cli.js" %*
`
const NATIVE = String.raw`@ECHO off
CALL :find_dp0
"%dp0%\node_modules\an-agent\bin\agent.exe"   %*
`
const PNPM = String.raw`@SETLOCAL
@IF EXIST "%~dp0\node.exe" (
  "%~dp0\node.exe"  "%~dp0\..\an-agent\cli.mjs" %*
) ELSE (
  node  "%~dp0\..\an-agent\cli.mjs" %*
)
`
const FILES: Readonly<Record<string, string>> = {
  'C:\\npm\\agent.cmd': NPM,
  'C:\\npm\\native.cmd': NATIVE,
  'C:\\npm\\pnpm-agent.CMD': PNPM,
  'C:\\npm\\own.bat': '@echo %1',
  'C:\\tools\\git.exe': '',
  'C:\\tools\\agent.cmd': 'never reached',
}
const system = (platform: NodeJS.Platform): ProgramSystem => ({
  platform,
  env: { Path: 'C:\\none;"C:\\npm";C:\\tools', PATHEXT: '.COM;.EXE;.BAT;.CMD' },
  exists: (path) => Object.keys(FILES).some((each) => each.toLowerCase() === path.toLowerCase()),
  read: (path) =>
    Object.entries(FILES).find(([each]) => each.toLowerCase() === path.toLowerCase())?.[1] ?? null,
})

for (const [program, file, before] of [
  ['agent', process.execPath, ['C:\\npm\\node_modules\\an-agent\\cli.js']],
  ['agent.cmd', process.execPath, ['C:\\npm\\node_modules\\an-agent\\cli.js']],
  ['native', 'C:\\npm\\node_modules\\an-agent\\bin\\agent.exe', []],
  ['pnpm-agent', process.execPath, ['C:\\an-agent\\cli.mjs']],
  ['git', 'C:\\tools\\git.exe', []],
  ['C:\\tools\\git', 'C:\\tools\\git.exe', []],
  ['not-there', 'not-there', []],
] as const)
  test(`on Windows, ${program} starts ${file === process.execPath ? 'Node' : file}`, () => {
    assert.deepEqual(findProgram(program, system('win32')), { file, before })
  })

test('a script that the user wrote is refused, because cmd.exe would interpret its arguments', () => {
  assert.throws(() => findProgram('own', system('win32')), /C:\\npm\\own\.bat is a script for cmd\.exe/)
})

test('on systems other than Windows, the program is started by its name', () => {
  for (const platform of ['linux', 'darwin'] as const)
    assert.deepEqual(findProgram('agent', system(platform)), { file: 'agent', before: [] })
})
