// Scenarios of successful answers: possible outputs of a model. All are synthetic, in the requested dialect.
import { bytesOf, type Part } from '../answer.ts'
import type { ToolCall } from '../provider.ts'
import { sampleOf } from './offered-tools.ts'
import { DIALECT, PLAIN_USAGE, type Scenario, type Scene, say, speak } from './scenario.ts'

const weather = (id: string, city: string): ToolCall => ({
  id,
  name: 'get_weather',
  arguments: ['{"ci', 'ty":"', city, '"}'],
})

/**
 * Calls the weather tool for these cities; if the request offers only other tools, calls these with made-up
 * arguments.
 */
const callsFor = ({ offered }: Scene, cities: readonly string[]): ToolCall[] =>
  cities.map((city, index) => {
    const id = `call_${index + 1}`
    const tool = offered[index % offered.length]
    if (!tool || offered.some(({ name }) => name === 'get_weather')) return weather(id, city)
    const json = JSON.stringify(sampleOf(tool.schema))
    const cut = Math.ceil(json.length / 2)
    return { id, name: tool.name, arguments: [json.slice(0, cut), json.slice(cut)] }
  })

const calling = (description: string, cities: readonly string[], text?: readonly string[]): Scenario => ({
  description,
  shape: DIALECT,
  callsTools: true,
  play: (scene) =>
    speak(scene, say(scene, { ...(text && { text }), calls: callsFor(scene, cities), finish: 'tool_calls' })),
})

const spoken = (description: string, more: Parameters<typeof say>[1] = {}): Scenario => ({
  description,
  shape: DIALECT,
  play: (scene) => speak(scene, say(scene, more)),
})

const counted = (words: number): string[] => Array.from({ length: words }, (_, index) => `${index} `)

const MEBIBYTE = 1024 * 1024

export const speeches: Readonly<Record<string, Scenario>> = {
  plain: spoken('a short text'),
  strict: {
    ...spoken('a short text; a top-level field that the provider does not know is refused as it would'),
    strict: true,
  },
  long: spoken('a text of 400 pieces, numbered', {
    text: counted(400),
    usage: { ...PLAIN_USAGE, output: 400 },
  }),
  tools: calling('one tool call, its arguments in pieces', ['Vienna'], []),
  'tools-parallel': calling('three tool calls in one turn', ['Vienna', 'São Paulo', '東京'], []),
  'tools-long-numbers': {
    description: 'one tool call with integers that a double cannot hold',
    shape: DIALECT,
    callsTools: true,
    play(scene) {
      const pieces = ['{"order":90071992', '54740993,"lines":[18446744073709551615]}']
      const calls = [{ id: 'call_1', name: 'find_order', arguments: pieces }]
      return speak(scene, say(scene, { text: [], calls, finish: 'tool_calls' }))
    },
  },
  reasoning: spoken('thoughts before the text, where the provider shows them, and their tokens', {
    reasoning: ['Somebody', ' greets.', ' Greet', ' back.'],
    usage: { ...PLAIN_USAGE, output: 19, reasoning: 12 },
  }),
  'usage-cached': spoken('most of the prompt came from the cache', {
    usage: { input: 2048, output: 7, cached: 1920, reasoning: 0 },
  }),
  'usage-zero': spoken('a usage in which every count is 0', {
    usage: { input: 0, output: 0, cached: 0, reasoning: 0 },
  }),
  'usage-missing': spoken('no usage, although it was asked for', { usage: null }),
  'finish-length': spoken('cut off by the limit of tokens', { finish: 'length' }),
  'finish-content-filter': spoken('stopped by the filter', { text: ['The'], finish: 'content_filter' }),
  'finish-tool-calls': calling('a text and then a tool call', ['Vienna']),
  'huge-event': spoken('one event of 1 MiB', { text: ['huge '.repeat(MEBIBYTE / 5)] }),
  'many-events': spoken('10 000 events, numbered', {
    text: counted(10_000),
    usage: { ...PLAIN_USAGE, output: 10_000 },
  }),
  flood: {
    description: 'a stream of 64 MiB in events of 16 KiB, for readers that are slow',
    shape: DIALECT,
    play(scene) {
      const said = speak(scene, say(scene, { text: ['x'.repeat(16 * 1024), '.'] }))
      if (!said || !scene.wants.stream) return said
      const large = said.parts.findIndex((part) => part instanceof Uint8Array && part.length > 16 * 1024)
      const flood = Array<Part>(4096).fill(said.parts[large] ?? bytesOf(''))
      return { ...said, parts: said.parts.toSpliced(large, 1, ...flood) }
    },
  },
}
