import { type OtherGateway, TOKEN_TABLES, tokenTables } from '../gateway.ts'

export const peer = {
  // The package claims to support Python 3.10 but uses syntax of 3.12. pyenv, if installed, needs the
  // explicit version.
  install: [
    'PYENV_VERSION=3.12.1 python3.12 -m venv .',
    'bin/pip install --quiet rosetta-llm==0.2.2',
    ...TOKEN_TABLES,
  ],
  bin: 'bin',
  env: tokenTables,
} satisfies OtherGateway
