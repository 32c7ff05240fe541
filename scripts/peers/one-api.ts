import { join } from 'node:path'
import type { Peer } from '../peer.ts'

export const peer = {
  // It counts tokens by tables that it fetches at its start; LiteLLM's package holds the same two.
  install: [
    'go mod init peer && go mod edit -require=github.com/songquanpeng/one-api@v0.6.10',
    'go build -mod=mod -o bin/one-api github.com/songquanpeng/one-api',
    'pip download --quiet --no-deps --only-binary :all: -d . litellm==1.106.2',
    'mkdir tokens && python3 -m zipfile -e litellm-*.whl wheel && cp wheel/litellm/litellm_core_utils/tokenizers/[0-9a-f]* tokens/',
    'rm -r wheel litellm-*.whl',
  ],
  bin: 'bin',
  env: (directory) => ({ TIKTOKEN_CACHE_DIR: join(directory, 'tokens') }),
} satisfies Peer
