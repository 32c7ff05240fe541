// All platforms, by their names in the configuration.
import type { PLATFORM_NAMES } from '../config/schema.ts'
import { bedrockPlatform } from './bedrock.ts'
import type { Platform } from './platform.ts'
import { vertexPlatform } from './vertex.ts'

export const PLATFORMS = { bedrock: bedrockPlatform, vertex: vertexPlatform } satisfies Record<
  (typeof PLATFORM_NAMES)[number],
  Platform
>
