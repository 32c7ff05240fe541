import type { OtherGateway } from '../gateway.ts'

const MODULE = 'github.com/QuantumNous/new-api'

export const peer = {
  // The module embeds its built page but does not contain it, so an empty page replaces it. Newer versions
  // are not in Go's checksum database, and cannot be built without it.
  install: [
    `go mod init peer && go mod edit -require=${MODULE}@v0.10.0 && go mod download ${MODULE}`,
    `cp -R "$(go list -m -f '{{.Dir}}' ${MODULE})" source && chmod -R u+w source`,
    'mkdir source/web/dist && echo "<html></html>" > source/web/dist/index.html',
    'cd source && go build -o ../bin/new-api .',
  ],
  bin: 'bin',
} satisfies OtherGateway
