// Usages of Google's Interactions, with the tokens and the cost of each. A cost is counts times rates, written by hand from
// Google's price list as of 28 November 2026. Names of members: Gemini API reference, "Interactions". Shares no code and no
// price with the gateway.
import type { UsageRow } from './test-usages.ts'

/** A million tokens, the unit of the rates. */
const M = 1_000_000

/** Tokens on record: input, cached part of it, output, reasoning part of it. */
type Recorded = readonly [
  input: number | null,
  cached: number | null,
  output: number | null,
  reasoning: number | null,
]

const row = (
  name: string,
  model: string,
  usage: Readonly<Record<string, unknown>>,
  [input, cached_input, output, reasoning]: Recorded,
  usd: number | null,
  { record, ...more }: Partial<UsageRow> = {},
): UsageRow => ({
  ...{ name: `interaction: ${name}`, provider: 'gemini', model, usage, usd },
  ...more,
  record: {
    ...{ 'tokens.input': input, 'tokens.cached_input': cached_input },
    ...{ 'tokens.output': output, 'tokens.reasoning': reasoning, ...record },
  },
})

/** Returns a usage with all counters, as Google sends it. */
const counts = (
  [input, cached, output, thought = 0, tool = 0]: readonly number[],
  more: object = {},
): Readonly<Record<string, unknown>> => ({
  ...{ total_input_tokens: input, total_cached_tokens: cached, total_output_tokens: output },
  ...{ total_thought_tokens: thought, total_tool_use_tokens: tool },
  total_tokens: input! + output! + thought + tool,
  ...more,
})
const kinds = (given: Readonly<Record<string, number>>) =>
  Object.entries(given).map(([modality, tokens]) => ({ modality, tokens }))
const input = (given: Readonly<Record<string, number>>) => ({ input_tokens_by_modality: kinds(given) })
const output = (given: Readonly<Record<string, number>>) => ({ output_tokens_by_modality: kinds(given) })
const cached = (given: Readonly<Record<string, number>>) => ({ cached_tokens_by_modality: kinds(given) })
const searched = (type: string, count: number) => ({ grounding_tool_count: [{ type, count }] })
const doubtful = (...doubts: string[]) => ({ record: { 'usage.doubts': doubts } })

const PLAIN = [1_000, 0, 1_000] as const
const UNKNOWN = { missing: ['unknown_usage'], ...doubtful('unknown_usage') }

const TOKENS: readonly UsageRow[] = [
  row(
    'the example of the reference',
    'gemini-3-flash-preview',
    counts([7, 0, 20, 22]),
    [7, 0, 42, 22],
    (7 * 0.5 + 42 * 3) / M,
  ),
  row(
    'the first call of the guide',
    'gemini-3.5-flash',
    { total_input_tokens: 9, total_output_tokens: 779, total_thought_tokens: 912, total_tokens: 1_700 },
    [9, null, 1_691, 912],
    (9 * 1.5 + 1_691 * 9) / M,
  ),
  row('2.5 Flash', 'gemini-2.5-flash', counts([...PLAIN]), [1_000, 0, 1_000, 0], 0.0028),
  row(
    '2.5 Flash, a cached prompt and thoughts',
    'gemini-2.5-flash',
    counts([10_000, 4_000, 500, 1_200]),
    [10_000, 4_000, 1_700, 1_200],
    (6_000 * 0.3 + 4_000 * 0.03 + 1_700 * 2.5) / M,
  ),
  row('2.5 Flash Lite', 'gemini-2.5-flash-lite', counts([...PLAIN]), [1_000, 0, 1_000, 0], 0.0005),
  row(
    '2.5 Pro, short',
    'gemini-2.5-pro',
    counts([199_000, 100_000, 1_000]),
    [199_000, 100_000, 1_000, 0],
    (99_000 * 1.25 + 100_000 * 0.125 + 1_000 * 10) / M,
  ),
  row(
    '2.5 Pro, long',
    'gemini-2.5-pro',
    counts([250_000, 0, 1_000, 2_000]),
    [250_000, 0, 3_000, 2_000],
    (250_000 * 2.5 + 3_000 * 15) / M,
  ),
  row(
    '2.5 Pro, long by what its tools found',
    'gemini-2.5-pro',
    counts([150_000, 0, 1_000, 0, 100_000]),
    [250_000, 0, 1_000, 0],
    (250_000 * 2.5 + 1_000 * 15) / M,
  ),
  row(
    '3.1 Pro, long and cached',
    'gemini-3.1-pro-preview',
    counts([300_000, 200_000, 1_000, 500]),
    [300_000, 200_000, 1_500, 500],
    (100_000 * 4 + 200_000 * 0.4 + 1_500 * 18) / M,
  ),
  row('3.1 Flash Lite', 'gemini-3.1-flash-lite', counts([...PLAIN]), [1_000, 0, 1_000, 0], 0.00175),
  row(
    '3.5 Flash, results of tools',
    'gemini-3.5-flash',
    counts([1_000, 0, 400, 600, 9_000]),
    [10_000, 0, 1_000, 600],
    0.024,
  ),
  row(
    '3.5 Flash Lite, everything cached',
    'gemini-3.5-flash-lite',
    counts([8_000, 8_000, 10]),
    [8_000, 8_000, 10, 0],
    (8_000 * 0.03 + 10 * 2.5) / M,
  ),
  row('3.8 Flash', 'gemini-3.8-flash', counts([...PLAIN]), [1_000, 0, 1_000, 0], 0.0045),
  row(
    '4 Argon, cached',
    'gemini-4-argon',
    counts([20_000, 16_000, 100, 900]),
    [20_000, 16_000, 1_000, 900],
    (4_000 * 2 + 16_000 * 0.1 + 1_000 * 10) / M,
  ),
  row('a dated name', 'gemini-3.5-flash-preview-05-20', counts([...PLAIN]), [1_000, 0, 1_000, 0], 0.0105),
  row('the newest Flash', 'gemini-flash-latest', counts([...PLAIN]), [1_000, 0, 1_000, 0], 0.0045),
  row(
    'a name with its collection',
    'models/gemini-2.5-flash',
    counts([...PLAIN]),
    [1_000, 0, 1_000, 0],
    0.0028,
  ),
  row('only thoughts', 'gemini-2.5-flash', counts([1_000, 0, 0, 700]), [1_000, 0, 700, 700], 0.00205),
  row('nothing written', 'gemini-2.5-flash', counts([1_000, 0, 0]), [1_000, 0, 0, 0], 0.0003),
  row(
    'no input of its own, after another interaction',
    'gemini-2.5-flash',
    counts([0, 0, 100, 0, 500]),
    [500, 0, 100, 0],
    (500 * 0.3 + 100 * 2.5) / M,
  ),
  row(
    'zeros left out',
    'gemini-2.5-flash',
    { total_input_tokens: 1_000, total_output_tokens: 1_000, total_tokens: 2_000 },
    [1_000, null, 1_000, null],
    0.0028,
  ),
  row(
    'no total',
    'gemini-2.5-flash',
    { total_input_tokens: 1_000, total_output_tokens: 800, total_thought_tokens: 200 },
    [1_000, null, 1_000, 200],
    0.0028,
  ),
  row(
    'an output left out',
    'gemini-2.5-flash',
    { total_input_tokens: 1_000, total_tokens: 2_000 },
    [1_000, null, 1_000, null],
    0.0028,
  ),
  row(
    'the input of the first turn',
    'gemini-2.5-flash',
    counts([...PLAIN], { initial_input_tokens: 400 }),
    [1_000, 0, 1_000, 0],
    0.0028,
    { record: { usage: null } },
  ),
  row(
    'millions of tokens',
    'gemini-2.5-flash',
    counts([1_000_000, 900_000, 60_000]),
    [1_000_000, 900_000, 60_000, 0],
    0.03 + 0.027 + 0.15,
  ),
]

const KINDS: readonly UsageRow[] = [
  row(
    'text alone',
    'gemini-2.5-flash',
    counts([...PLAIN], { ...input({ text: 1_000 }), ...output({ text: 1_000 }) }),
    [1_000, 0, 1_000, 0],
    0.0028,
    { record: { usage: null } },
  ),
  row(
    'sound in the prompt',
    'gemini-2.5-flash',
    counts([3_200, 0, 300], input({ text: 200, audio: 3_000 })),
    [3_200, 0, 300, 0],
    0.00381,
    { record: { usage: { input_audio: 3_000 } } },
  ),
  row(
    'sound in the prompt, cached',
    'gemini-2.5-flash',
    counts([3_200, 2_000, 300], { ...input({ text: 200, audio: 3_000 }), ...cached({ audio: 2_000 }) }),
    [3_200, 2_000, 300, 0],
    (200 * 0.3 + 1_000 * 1 + 2_000 * 0.1 + 300 * 2.5) / M,
    { record: { usage: { input_audio: 3_000, cached_audio: 2_000 } } },
  ),
  row(
    'sound from a tool',
    'gemini-2.5-flash',
    counts([200, 0, 300, 0, 3_000], {
      ...input({ text: 200 }),
      tool_use_tokens_by_modality: kinds({ audio: 3_000 }),
    }),
    [3_200, 0, 300, 0],
    0.00381,
    { record: { usage: { input_audio: 3_000 } } },
  ),
  row(
    'sound to a model with one price for all input',
    'gemini-3.5-flash',
    counts([...PLAIN], input({ audio: 1_000 })),
    [1_000, 0, 1_000, 0],
    0.0105,
    { record: { usage: { input_audio: 1_000 } } },
  ),
  row(
    'a picture and a document in the prompt',
    'gemini-2.5-flash',
    counts([...PLAIN], input({ text: 100, image: 258, document: 642 })),
    [1_000, 0, 1_000, 0],
    0.0028,
    { record: { usage: { input_image: 258 } } },
  ),
  row(
    'a film in the prompt',
    'gemini-2.5-flash',
    counts([...PLAIN], input({ text: 100, video: 900 })),
    [1_000, 0, 1_000, 0],
    0.0028,
    { record: { usage: { input_video: 900 } } },
  ),
  row(
    '2.5 Flash Image draws',
    'gemini-2.5-flash-image',
    counts([300, 0, 1_290], output({ image: 1_290 })),
    [300, 0, 1_290, 0],
    0.03879,
    { record: { usage: { output_image: 1_290 } } },
  ),
  row(
    '3 Pro Image writes, thinks and draws',
    'gemini-3-pro-image',
    counts([500, 0, 1_220, 300], output({ text: 100, image: 1_120 })),
    [500, 0, 1_520, 300],
    (500 * 2 + 400 * 12 + 1_120 * 120) / M,
    { record: { usage: { output_image: 1_120 } } },
  ),
  row(
    '3.8 Flash speaks',
    'gemini-3.8-flash-tts',
    counts([100, 0, 2_000], output({ audio: 2_000 })),
    [100, 0, 2_000, 0],
    (100 * 0.5 + 2_000 * 9) / M,
    { record: { usage: { output_audio: 2_000 } } },
  ),
  row(
    'Omni makes a film',
    'gemini-omni-1.1-flash',
    counts([200, 0, 58_020, 80], output({ text: 100, video: 57_920 })),
    [200, 0, 58_100, 80],
    (200 * 1.5 + 180 * 9 + 57_920 * 17.5) / M,
    { record: { usage: { output_video: 57_920 } } },
  ),
  row(
    'the preview of Omni changes a film',
    'gemini-omni-flash-preview',
    counts([5_200, 0, 10_000], { ...input({ text: 200, video: 5_000 }), ...output({ video: 10_000 }) }),
    [5_200, 0, 10_000, 0],
    (5_200 * 1.5 + 10_000 * 17.5) / M,
    { record: { usage: { input_video: 5_000, output_video: 10_000 } } },
  ),
  row(
    'a kind without a price',
    'gemini-2.5-flash',
    counts([...PLAIN], output({ text: 900, smell: 100 })),
    [1_000, 0, 1_000, 0],
    0.0028,
    UNKNOWN,
  ),
  row(
    'a kind without a price, zero times',
    'gemini-2.5-flash',
    counts([...PLAIN], output({ text: 1_000, smell: 0 })),
    [1_000, 0, 1_000, 0],
    0.0028,
    { record: { usage: null } },
  ),
]

const TOOLS: readonly UsageRow[] = [
  row(
    '3.5 Flash searches twice',
    'gemini-3.5-flash',
    counts([1_000, 0, 400, 600, 9_000], searched('google_search', 2)),
    [10_000, 0, 1_000, 600],
    0.024 + 2 * 0.014,
    { record: { usage: { tools: { google_search: 2 } } } },
  ),
  row(
    '4 Argon searches',
    'gemini-4-argon',
    counts([...PLAIN], searched('google_search', 1)),
    [1_000, 0, 1_000, 0],
    0.012 + 0.014,
  ),
  row(
    '2.5 Flash searches, for a fee by prompt',
    'gemini-2.5-flash',
    counts([...PLAIN], searched('google_search', 3)),
    [1_000, 0, 1_000, 0],
    0.0028,
    { missing: ['tools'] },
  ),
  row(
    'places on a map',
    'gemini-3.5-flash',
    counts([...PLAIN], searched('google_maps', 1)),
    [1_000, 0, 1_000, 0],
    0.0105,
    { missing: ['tools'], record: { usage: { tools: { google_maps: 1 } } } },
  ),
  row(
    'a retrieval',
    'gemini-3.5-flash',
    counts([...PLAIN], searched('retrieval', 4)),
    [1_000, 0, 1_000, 0],
    0.0105,
    { missing: ['tools'] },
  ),
  row(
    'no search after all',
    'gemini-3.5-flash',
    counts([...PLAIN], searched('google_search', 0)),
    [1_000, 0, 1_000, 0],
    0.0105,
    { record: { usage: null } },
  ),
  row(
    'the same tool counted in two parts',
    'gemini-3.5-flash',
    counts([...PLAIN], {
      grounding_tool_count: [
        { type: 'google_search', count: 1 },
        { type: 'google_search', count: 2 },
      ],
    }),
    [1_000, 0, 1_000, 0],
    0.0105 + 3 * 0.014,
    { record: { usage: { tools: { google_search: 3 } } } },
  ),
]

const TIERS: readonly UsageRow[] = [
  ...(
    [
      ['standard', 0.0105, []],
      ['flex', 0.00525, []],
      ['priority', 0.0189, []],
      ['deferred', null, ['service_tier']],
    ] as const
  ).map(([tier, usd, missing]) =>
    row(`the tier ${tier}`, 'gemini-3.5-flash', counts([...PLAIN]), [1_000, 0, 1_000, 0], usd, {
      ...{ tier, missing, record: { service_tier: tier } },
    }),
  ),
  row('the tier in a header', 'gemini-3.5-flash', counts([...PLAIN]), [1_000, 0, 1_000, 0], 0.00525, {
    headers: { 'x-gemini-service-tier': 'flex' },
    record: { service_tier: 'flex' },
  }),
  row(
    'flex with a search and a cached prompt',
    'gemini-3.5-flash',
    counts([10_000, 4_000, 1_000], searched('google_search', 1)),
    [10_000, 4_000, 1_000, 0],
    (6_000 * 1.5 + 4_000 * 0.15 + 1_000 * 9) / M / 2 + 0.014,
    { tier: 'flex' },
  ),
]

const ENDS: readonly UsageRow[] = [
  ...['requires_action', 'incomplete', 'budget_exceeded'].map((stopReason) =>
    row(`the end ${stopReason}`, 'gemini-3.5-flash', counts([...PLAIN]), [1_000, 0, 1_000, 0], 0.0105, {
      stopReason,
    }),
  ),
  row(
    'a more expensive model answers',
    'gemini-2.5-flash',
    counts([...PLAIN]),
    [1_000, 0, 1_000, 0],
    (1_000 * 1.25 + 1_000 * 10) / M,
    { served: 'gemini-2.5-pro' },
  ),
  row('an unknown model answers', 'gemini-2.5-flash', counts([...PLAIN]), [1_000, 0, 1_000, 0], null, {
    served: 'gemini-9-dream',
    missing: ['model'],
  }),
  row(
    'an agent without a price',
    'deep-research-preview-04-2026',
    counts([90_000, 60_000, 9_000, 30_000, 400_000]),
    [490_000, 60_000, 39_000, 30_000],
    null,
    { missing: ['price'] },
  ),
  row(
    'a counter of the future',
    'gemini-2.5-flash',
    counts([...PLAIN], { total_dream_tokens: 7 }),
    [1_000, 0, 1_000, 0],
    0.0028,
    { ...UNKNOWN, record: { 'usage.other': { total_dream_tokens: 7 } } },
  ),
  row(
    'thoughts by the older name',
    'gemini-2.5-flash',
    { total_input_tokens: 1_000, total_output_tokens: 300, total_reasoning_tokens: 700, total_tokens: 2_000 },
    [1_000, null, 1_000, 700],
    0.0028,
  ),
  row(
    'a total with tokens of no kind',
    'gemini-2.5-flash',
    counts([1_000, 0, 300], { total_tokens: 2_000 }),
    [1_000, 0, 1_000, 0],
    0.0028,
    doubtful('counts'),
  ),
  row('more cached than sent', 'gemini-2.5-flash', counts([100, 4_000, 300]), [100, 4_000, 300, 0], null, {
    missing: ['usage'],
  }),
]

export const INTERACTION_ROWS: readonly UsageRow[] = [...TOKENS, ...KINDS, ...TOOLS, ...TIERS, ...ENDS]
