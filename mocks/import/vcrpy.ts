// Cassettes of vcrpy (Python), version 1: YAML or JSON, bodies as transmitted.
import { readVcr } from './cassette.ts'
import type { ImportFormat } from './interaction.ts'

export const vcrpy: ImportFormat = {
  name: 'vcrpy',
  read: readVcr,
  cut: (text) => (/^version: *\d/m.test(text) ? null : 'its last line, the version, is missing'),
}
