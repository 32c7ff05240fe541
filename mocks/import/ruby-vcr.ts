// Cassettes of VCR (Ruby) and of its port to R: YAML or JSON, addresses that may hold a project's placeholders.
import { readVcr } from './cassette.ts'
import type { ImportFormat } from './interaction.ts'

export const rubyVcr: ImportFormat = {
  name: 'Ruby VCR',
  read: readVcr,
  cut: (text) => (/^recorded_with: *\S/m.test(text) ? null : 'its last line, recorded_with, is missing'),
}

export const rVcr: ImportFormat = { ...rubyVcr, name: 'R vcr' }
