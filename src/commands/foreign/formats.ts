// The formats that `waybill init --from` reads.
import { claudeCodeRouter } from './claude-code-router.ts'
import type { ForeignFormat } from './draft.ts'
import { litellm } from './litellm.ts'
import { oneApi } from './one-api.ts'

export const FORMATS: readonly ForeignFormat[] = [litellm, claudeCodeRouter, oneApi]
