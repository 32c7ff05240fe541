// Names of a line's segments; the gateway knows how each is shown (segments.ts).

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

/** Placeholder for an age that is not known yet, as wide as the widest. */
export const AGE_PLACEHOLDER = '{___age___}'
