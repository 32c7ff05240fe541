import type { Peer } from '../peer.ts'

export const peer = {
  // Its image brings prisma too; without it a missing key is answered with a 500.
  install: ['python3 -m venv .', 'bin/pip install --quiet "litellm[proxy]==1.106.2" prisma'],
  bin: 'bin',
} satisfies Peer
