// biome-ignore-all lint/suspicious/noTemplateCurlyInString: as shells write a variable
// Every mistake in a configuration is reported with its place and the probably intended value.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError } from '../core/errors.ts'
import { parseConfig } from './load.ts'
import { DIALECT_NAMES, STRATEGIES } from './schema.ts'

const PROVIDER = 'providers: { openai: { dialect: openai, base_url: https://api.openai.com/v1 } }\n'
const digest = `"sha256:${'0'.repeat(64)}"`

function problems(text: string): readonly string[] {
  try {
    parseConfig(text, 'w.yaml', { env: { OPENAI_API_KEY: 'sk-x' } })
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error))
    return error.problems
  }
  return []
}

/** Configurations with all their problems, in order. */
const TABLE: Record<string, readonly [string, readonly string[]]> = {
  'several unknown settings in one place': [
    'servr: {}\nroute: {}\nproviderz: {}\n',
    [
      'w.yaml:1:1 servr: no such setting; did you mean server?',
      'w.yaml:2:1 route: no such setting; did you mean routes?',
      'w.yaml:3:1 providerz: no such setting; did you mean providers?',
    ],
  ],
  'unknown settings at several depths, beside wrong values': [
    `${PROVIDER}server: { prot: 1, hots: x }\nresilience: { cool_down: 1s, idle: 1 }\nroutes: { auto: { stratgy: random, targets: [ { modle: openai/x } ] } }\n`,
    [
      'w.yaml:2:11 server.prot: no such setting; did you mean port?',
      'w.yaml:2:20 server.hots: no such setting; did you mean host?',
      'w.yaml:3:15 resilience.cool_down: no such setting; did you mean cooldown?',
      'w.yaml:3:36 resilience.idle: must be a number and a unit, such as 5s',
      'w.yaml:4:19 routes.auto.stratgy: no such setting; did you mean strategy?',
      'w.yaml:4:49 routes.auto.targets.0.modle: no such setting; did you mean model?',
    ],
  ],
  'a setting like no other': [
    'zebra: 1\n',
    [
      'w.yaml:1:1 zebra: no such setting; there are: server, data, durability, fleet, telemetry, providers, models, prices, routes, defaults, responses, keep, passthrough, passthrough_providers, unknown_objects, resilience, retention, artifacts, cache, keys',
    ],
  ],
  'names that do not exist beside wrong values': [
    `${PROVIDER}server: { port: 70000 }\nroutes: { auto: { targets: [ { model: opnai/x }, { model: openai/x } ] } }\n`,
    [
      'w.yaml:2:17 server.port: must be at most 65535',
      'w.yaml:3:39 routes.auto.targets.0.model: there is no provider "opnai"; did you mean "openai/x"?',
    ],
  ],
  'values that are none of a list': [
    `providers: { openai: { dialect: openia, base_url: https://api.openai.com/v1 } }\nroutes: { auto: { strategy: priorty, targets: [ { model: openai/x } ] } }\ndurability: maybe\n`,
    [
      `w.yaml:1:33 providers.openai.dialect: must be one of openai, anthropic, ${DIALECT_NAMES.join(', ')}, or a list of them`,
      `w.yaml:2:29 routes.auto.strategy: must be one of ${STRATEGIES.join(', ')}; did you mean priority?`,
      'w.yaml:3:13 durability: must be one of process, full, shared',
    ],
  ],
  'values of the wrong kind': [
    `server:\nproviders: []\nroutes: { auto: { targets: { model: openai/x } } }\ncache: { enabled: "yes" }\nretention: { rows: many, days: 0 }\ndata: 7\nkeys: { a: b }\n`,
    [
      'w.yaml:1:8 server: must be a mapping, and is empty',
      'w.yaml:2:12 providers: must be a mapping, not a list',
      'w.yaml:3:28 routes.auto.targets: must be a list, not a mapping',
      'w.yaml:4:19 cache.enabled: must be true or false, not text',
      'w.yaml:5:20 retention.rows: must be a number, not text',
      'w.yaml:5:32 retention.days: must be more than 0',
      'w.yaml:6:7 data: must be text, not 7',
      'w.yaml:7:7 keys: must be a list, not a mapping',
    ],
  ],
  'what is missing': [
    'providers: { a: {} }\nroutes: { auto: {} }\nkeys: [ {} ]\n',
    [
      'w.yaml:1:17 providers.a.dialect: is missing',
      'w.yaml:1:17 providers.a.base_url: is missing',
      'w.yaml:2:17 routes.auto.targets: is missing',
      'w.yaml:3:9 keys.0.name: is missing',
      'w.yaml:3:9 keys.0.digest: is missing',
    ],
  ],
  'an empty file': ['', ['w.yaml:1:1 file: is empty; name a provider and a route']],
  'a file of comments': ['# nothing yet\n', ['w.yaml:1:1 file: is empty; name a provider and a route']],
  'a file that is a list': ['- a\n', ['w.yaml:1:1 file: must be a mapping, not a list']],
  'a file that is a word': ['hello\n', ['w.yaml:1:1 file: must be a mapping, not text']],
  'a base address with the path of one endpoint': [
    'providers:\n  a: { dialect: openai, base_url: https://a.example/v1/chat/completions }\n  b: { dialect: openai, base_url: "https://b.example/v1/chat/completions/?x=1" }\n  c: { dialect: openai, base_url: https://c.example/v1/responses }\n',
    [
      'w.yaml:2:35 providers.a.base_url: leave out /chat/completions; it is added to each request',
      'w.yaml:3:35 providers.b.base_url: leave out /chat/completions; it is added to each request',
      'w.yaml:4:35 providers.c.base_url: leave out /responses; it is added to each request',
    ],
  ],
  'a base address with a key or a name in it': [
    'providers:\n  a: { dialect: openai, base_url: "https://me:sk-secret@a.example/v1" }\n  b: { dialect: openai, base_url: "https://b.example/v1?key=sk-secret" }\n  c: { dialect: openai, base_url: "https://c.example/v1#x" }\n',
    [
      'w.yaml:2:35 providers.a.base_url: must not contain a user name or password; put the key into an environment variable and name it under key',
      'w.yaml:3:35 providers.b.base_url: must not contain a query or fragment',
      'w.yaml:4:35 providers.c.base_url: must not contain a query or fragment',
    ],
  ],
  'providers of endpoints that they do not have': [
    `${PROVIDER}passthrough: [files]\npassthrough_providers: { files: [opnai, cloud], audio: [openai] }\n`.replace(
      '} }\n',
      '}, cloud: { dialect: messages, base_url: https://bedrock-runtime.us-east-1.amazonaws.com, platform: bedrock } }\n',
    ),
    [
      'w.yaml:3:34 passthrough_providers.files.0: there is no provider "opnai"; did you mean "openai"?',
      'w.yaml:3:41 passthrough_providers.files.1: "cloud" is at bedrock, which has no such endpoints',
      'w.yaml:3:56 passthrough_providers.audio: "audio" is not open; add it to `passthrough`',
    ],
  ],
  'the same target twice': [
    `${PROVIDER}routes:\n  auto:\n    targets: [ { model: openai/x }, { model: openai/y }, { model: openai/x } ]\n`,
    ['w.yaml:4:67 routes.auto.targets.2.model: "openai/x" is already a target of this route'],
  ],
  'a key as shells write it': [
    'providers:\n  a: { dialect: openai, base_url: https://a.example/v1, key: ${OPENAI_API_KEY} }\n',
    ['w.yaml:2:62 write $OPENAI_API_KEY, without braces'],
  ],
  'a key as shells write it, in quotes': [
    'providers: { a: { dialect: openai, base_url: https://a.example/v1, key: "${OPENAI_API_KEY}" } }\n',
    ['w.yaml:1:73 providers.a.key: write $OPENAI_API_KEY, without braces'],
  ],
  'a setting that appears twice': [
    'server: { port: 1 }\ndata: ./d\nserver: { host: x }\n',
    ['w.yaml:3:1 server: appears twice; the first is on line 1'],
  ],
  'a provider that appears twice': [
    'providers:\n  a: { dialect: openai, base_url: https://a.example/v1 }\n  a: { dialect: openai, base_url: https://b.example/v1 }\n',
    ['w.yaml:3:3 providers.a: appears twice; the first is on line 2'],
  ],
  'an alias of nothing': [
    'server: { port: 1 }\ndata: *nowhere\n',
    ['w.yaml:2:7 data: there is no anchor "nowhere" before this alias'],
  ],
  'aliases that multiply': [
    `a: &a [1,1,1,1,1,1,1,1,1,1]\n${'bcdefghi'
      .split('')
      .map((name, n) => {
        const before = 'abcdefghi'[n]
        return `${name}: &${name} [${Array(10).fill(`*${before}`).join(',')}]\n`
      })
      .join('')}`,
    ['w.yaml:2:8 the aliases expand to more than this file may contain'],
  ],
  'an alias inside of what it names': [
    'providers: &p { a: *p }\n',
    ['w.yaml:1:20 providers.a: the alias is inside the value that it refers to'],
  ],
  'several documents': [
    'server: { port: 1 }\n---\nserver: { port: 2 }\n',
    ['w.yaml:2:1 a second document begins here; a file may contain only one'],
  ],
  'a tag that YAML does not know': ['data: !secret key\n', ['w.yaml:1:7 the tag !secret is not known']],
  'one digest under two names': [
    `keys:\n  - { name: ann, digest: ${digest} }\n  - { name: bob, digest: ${digest}, role: admin }\n`,
    [
      'w.yaml:3:26 keys.1.digest: "bob" and "ann" have the same digest, so they would be one key; make another with `waybill key new`',
    ],
  ],
  'text that steers a terminal': [
    '"ser\\e[31mver\\u009b\\u202e": 1\n',
    [
      'w.yaml:1:1 ser\\u001b[31mver\\u009b\\u202e: no such setting; there are: server, data, durability, fleet, telemetry, providers, models, prices, routes, defaults, responses, keep, passthrough, passthrough_providers, unknown_objects, resilience, retention, artifacts, cache, keys',
    ],
  ],
}

for (const [name, [text, expected]] of Object.entries(TABLE))
  test(`reports ${name}`, () => {
    assert.deepEqual(problems(text), expected)
  })

test('no reported problem contains parser jargon or a line break', () => {
  for (const text of [
    'a: b: c',
    '{',
    '[',
    '"',
    "'",
    '%',
    '@x',
    'a:\n\t- b',
    '&',
    'x: |\n y\n z: 1',
    '? a\n? a',
  ])
    for (const line of problems(text)) {
      assert.match(line, /^w\.yaml:\d+:\d+ [^\n]+$/)
      assert.doesNotMatch(line, /flow-map|block-map|scalar|node|collection|Zod|Invalid input/i, text)
    }
})
