// Colours by meaning. `default` has fixed colours of medium lightness that are readable on light and dark
// backgrounds; a test computes the contrast. `ansi` uses the terminal's palette. `mono` uses only font
// weight.

/** Meaning of a part of the line. */
export type Tone = 'target' | 'label' | 'quiet' | 'plain' | 'money' | 'warning'

/** Parameters of the SGR sequence for each tone; empty for none. */
export type Theme = Readonly<Record<Tone, string>>

const WEIGHT: Theme = { target: '1', label: '', quiet: '2', plain: '', money: '', warning: '1' }

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

export const isThemeName = (name: string): name is ThemeName => Object.hasOwn(THEMES, name)
