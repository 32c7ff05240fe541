import type { OtherGateway } from '../gateway.ts'

export const peer = {
  // Its version ranges allow any later version of its providers' clients. Anthropic's client has no
  // `temperature` and no `top_p` from 1.0 on, so each call with one of them ends in a 500.
  install: [
    'python3 -m venv .',
    'bin/pip install --quiet "any-llm-sdk[gateway,openai,deepseek,anthropic]==1.13.0" "anthropic<1" "openai<3"',
  ],
  bin: 'bin',
  services: ['postgres'],
} satisfies OtherGateway
