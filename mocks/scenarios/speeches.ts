// Scenarios in which all goes well: what a model may say. Every one is synthetic, in the dialect that was asked for.
import { bytesOf, type Part } from '../answer.ts'
import type { ToolCall } from '../provider.ts'
import { DIALECT, PLAIN_USAGE, type Scenario, say, speak } from '../scenario.ts'

const weather = (id: string, city: string): ToolCall => ({
  id,
  name: 'get_weather',
  arguments: ['{"ci', 'ty":"', city, '"}'],
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
  tools: spoken('one tool call, its arguments in four pieces', {
    text: [],
    calls: [weather('call_1', 'Vienna')],
    finish: 'tool_calls',
  }),
  'tools-parallel': spoken('three tool calls in one turn', {
    text: [],
    calls: [weather('call_1', 'Vienna'), weather('call_2', 'São Paulo'), weather('call_3', '東京')],
    finish: 'tool_calls',
  }),
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
  'finish-tool-calls': spoken('a text and then a tool call', {
    calls: [weather('call_1', 'Vienna')],
    finish: 'tool_calls',
  }),
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
