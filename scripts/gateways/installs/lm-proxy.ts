import type { OtherGateway } from '../gateway.ts'

export const peer = {
  install: ['python3 -m venv .', 'bin/pip install --quiet lm-proxy==3.3.2'],
  bin: 'bin',
} satisfies OtherGateway
