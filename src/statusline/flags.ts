// Options that follow the command in the client's settings. A mistake is reported on stderr and never
// prevents the line.
import { DEFAULT_SEGMENTS, isSegmentName, SEGMENT_NAMES, type SegmentName } from './segment-names.ts'
import { isThemeName, THEME_NAMES, type ThemeName } from './themes.ts'

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
