import type { Peer } from '../peer.ts'

export const peer = {
  install: [
    'python3 -m venv .',
    'bin/pip install --quiet "any-llm-sdk[gateway,openai,deepseek,anthropic]==1.13.0"',
  ],
  bin: 'bin',
  services: ['postgres'],
} satisfies Peer
