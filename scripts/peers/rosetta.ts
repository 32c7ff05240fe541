import { type Peer, TOKEN_TABLES, tokenTables } from '../peer.ts'

export const peer = {
  // It says that Python 3.10 will do, and has syntax of 3.12. pyenv, where that is what finds it, wants to be told which.
  install: [
    'PYENV_VERSION=3.12.1 python3.12 -m venv .',
    'bin/pip install --quiet rosetta-llm==0.2.2',
    ...TOKEN_TABLES,
  ],
  bin: 'bin',
  env: tokenTables,
} satisfies Peer
