// Forms of a model's name: dated, with the name of its maker, of a cloud or of a stored file. Tells whether two names
// are forms of one. Knows no models and no prices. Pure.

/** Files and folders, which local servers name instead of a model. */
const FILE = /^[./~\\]|^[a-z]:[\\/]|\.(gguf|ggml|bin|safetensors|pth?|onnx|engine)$/i
/** Ways of storing weights. */
const STORED =
  /[-.:](fp\d+|bf16|int\d|awq|gptq|gguf|ggml|mlx|\d+bit|nvfp4|mxfp4|i?q\d(_[a-z0-9]+)*)(?=[-.:]|$)/g
/** A date, or a version by its number: 20251001, 2025-10-01, 09-2025, 0905, 001. */
const DATE = /(?<=.)[-@](20\d{6}|20\d\d-\d\d-\d\d|\d\d-20\d\d|\d{4}|00\d)(?![\d.])/g
/** Words that choose among versions of a model. */
const CHANNELS = new Set(['latest', 'preview', 'exp'])
/** OpenRouter's variants with a price of their own. Other variants, such as `:nitro`, choose the host of the model. */
const PRICED_VARIANTS = new Set(['free', 'thinking', 'extended', 'online'])

/** Returns true for the path or the name of a file. */
const isFileName = (name: string): boolean => FILE.test(name)

/** Returns true for a name in a catalogue of several makers: `maker/model`. */
export const isCatalogueName = (name: string): boolean =>
  /^[\w.-]+\/[^/]+$/.test(name) && !name.startsWith('models/') && !isFileName(name)

/** Returns a name without maker, cloud and region: `anthropic/`, `us.anthropic.`, `models/`. */
export const bareName = (name: string): string =>
  name
    .slice(name.lastIndexOf('/') + 1)
    .replace(/^(?:[a-z-]+\.)+(?=[a-z])/i, '')
    .replace(/\[\w+\]$/, '')

/** Returns the dates in a name. */
export const datesIn = (name: string): string => (bareName(name).match(DATE) ?? []).join(' ')

/**
 * Returns what all forms of a model's name have in common: its words in any order, and its numbers in theirs
 * (OpenRouter answers `claude-4.5-haiku` for `claude-haiku-4.5`).
 */
export function nameKey(name: string): string {
  const [model = '', ...tags] = bareName(name.toLowerCase())
    .replace(/-v\d+:\d+(:\w+)?$/, '')
    .split(':')
  const kept = model === 'ft' ? tags : tags.filter((tag) => PRICED_VARIANTS.has(tag) || /\d[a-z]/.test(tag))
  const words = [model, ...kept]
    .join('-')
    .replace(STORED, '')
    .replace(DATE, '')
    .split(/[-._@\s]+/)
    .filter((word) => word !== '' && !CHANNELS.has(word))
  const isNumber = (word: string) => /^\d+$/.test(word)
  return [...words.filter((word) => !isNumber(word)).toSorted(), ...words.filter(isNumber)].join(' ')
}

/** Results for pairs of names: most calls of a configuration have the same few. */
const others = new Map<string, boolean>()
const MAX_OTHERS = 1_000
/** Maximum characters of a pair that is kept, because providers choose the length. */
const MAX_PAIR = 512

/** Returns true if an answer names another model than the one that was asked. */
export function isOtherModel(asked: string, answered: string | null | undefined): answered is string {
  if (answered == null || answered === '' || answered === asked) return false
  const pair = `${asked}\n${answered}`
  const known = others.get(pair)
  if (known !== undefined) return known
  const isOther = !isFileName(answered) && nameKey(answered) !== nameKey(asked)
  if (others.size >= MAX_OTHERS) others.clear()
  if (pair.length <= MAX_PAIR) others.set(pair, isOther)
  return isOther
}
