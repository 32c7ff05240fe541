import type { OtherGateway } from '../gateway.ts'

export const peer = {
  install: ['python3 -m venv .', 'bin/pip install --quiet "mlflow[gateway]==3.17.2"'],
  bin: 'bin',
} satisfies OtherGateway
