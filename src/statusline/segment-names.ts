// Names of a line's segments. segments.ts, in the gateway, formats each of them.

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
export const DEFAULT_SEGMENTS: readonly SegmentName[] = ['route', 'fallback', 'strategy', 'latency', 'cost']

export const isSegmentName = (name: string): name is SegmentName =>
  (SEGMENT_NAMES as readonly string[]).includes(name)

/** Placeholder for an unknown age, as wide as the widest age. */
export const AGE_PLACEHOLDER = '{___age___}'
