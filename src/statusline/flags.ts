// Options that follow the command in the client's settings, and the names that they may have: segments and themes. A
// mistake is reported on stderr and never prevents the line.

export interface Flags {
  /** Address of the gateway; null to use WAYBILL_URL. */
  readonly url: string | null
  /** File that contains only the key; null to use WAYBILL_KEY_FILE. */
  readonly keyFile: string | null
  readonly segments: readonly SegmentName[]
  readonly theme: ThemeName
  readonly links: 'auto' | 'on' | 'off'
  /** Shell command that prints another line, which is kept; null for none. */
  readonly wrap: string | null
  /** True to answer `subagentStatusLine` (LINE-10). */
  readonly subagents: boolean
}

/**
 * Parses `--name value` and `--name=value`. A wrong option is added to `problems`, and its default is used.
 */
export function readFlags(args: readonly string[]): { flags: Flags; problems: string[] } {
  const problems: string[] = []
  const flags: { -readonly [Name in keyof Flags]: Flags[Name] } = {
    url: null,
    keyFile: null,
    segments: DEFAULT_SEGMENTS,
    theme: 'default',
    links: 'auto',
    wrap: null,
    subagents: false,
  }
  const rest = [...args]
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    const [, name = arg, inline] = /^(--[a-z-]+)=(.*)$/s.exec(arg) ?? []
    const value = () => inline ?? rest.shift() ?? ''
    if (name === '--subagents') flags.subagents = true
    else if (name === '--url') flags.url = value()
    else if (name === '--key-file') flags.keyFile = value()
    else if (name === '--wrap') flags.wrap = value()
    else if (name === '--links') {
      const links = value()
      if (links === 'auto' || links === 'on' || links === 'off') flags.links = links
      else problems.push('--links must be auto, on or off')
    } else if (name === '--theme') {
      const theme = value()
      if (isThemeName(theme)) flags.theme = theme
      else problems.push(`--theme must be one of ${THEME_NAMES.join(', ')}`)
    } else if (name === '--segments' || name === '--segment') {
      const names = value().split(',')
      const known = names.filter(isSegmentName)
      if (known.length < names.length)
        problems.push(`--segments must be a list of ${SEGMENT_NAMES.join(', ')}, with commas`)
      if (known.length > 0) flags.segments = known
    }
    // Only the name is shown, because the rest may be a key.
    else
      problems.push(/^--[a-z-]+$/.test(name) ? `unknown option ignored: ${name}` : 'unknown argument ignored')
  }
  return { flags, problems }
}

export const SEGMENT_NAMES = [
  'route',
  'fallback',
  'strategy',
  'latency',
  'ttft',
  'tokens',
  'cost',
  'session',
  'cache',
  'limits',
  'context',
  'place',
] as const
export type SegmentName = (typeof SEGMENT_NAMES)[number]
export const DEFAULT_SEGMENTS: readonly SegmentName[] = [
  'route',
  'fallback',
  'strategy',
  'latency',
  'cost',
  'session',
]

const isSegmentName = (name: string): name is SegmentName =>
  (SEGMENT_NAMES as readonly string[]).includes(name)

/** Placeholder for an unknown age and its cause, as wide as the widest of them (`no gateway, 59 min ago`). */
export const AGE_PLACEHOLDER = '{________age_________}'

/** Meaning of a part of the line. */
export type Tone = 'target' | 'label' | 'quiet' | 'plain' | 'money' | 'warning'

/** Parameters of the SGR sequence for each tone; empty for none. */
export type Theme = Readonly<Record<Tone, string>>

const WEIGHT: Theme = { target: '1', label: '', quiet: '2', plain: '', money: '', warning: '1' }

/**
 * Colours by meaning. `default` has fixed colours of medium lightness that are readable on light and dark backgrounds; a
 * test computes the contrast. `ansi` uses the terminal's palette. `mono` uses only font weight.
 */
export const THEMES = {
  default: {
    target: '1;38;5;32',
    label: '',
    quiet: '38;5;243',
    plain: '',
    money: '38;5;29',
    warning: '1;38;5;166',
  },
  ansi: { ...WEIGHT, target: '1;36', money: '32', warning: '1;31' },
  mono: WEIGHT,
} satisfies Record<string, Theme>

export type ThemeName = keyof typeof THEMES
export const THEME_NAMES = Object.keys(THEMES) as ThemeName[]

const isThemeName = (name: string): name is ThemeName => Object.hasOwn(THEMES, name)
