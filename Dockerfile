# The gateway as an image: what runs, and nothing else. docs/containers.md says how to use it and what it weighs.
# The base needs Node and npm on glibc; scripts/release/base-image.sh makes a stand-in where no registry answers.
ARG BASE_IMAGE=node:24-bookworm-slim

FROM ${BASE_IMAGE} AS build
WORKDIR /build
COPY package.json package-lock.json ./
# `ca` is an optional secret, a bundle of certificates for a network that has its own; it stays out of the image.
# No package's own script runs: SQLite comes ready-made, and the rest is JavaScript.
RUN --mount=type=secret,id=ca --mount=type=cache,target=/npm-cache \
    [ ! -f /run/secrets/ca ] || export npm_config_cafile=/run/secrets/ca; \
    npm ci --cache /npm-cache --ignore-scripts --no-audit --no-fund
COPY . .
RUN node node_modules/tsup/dist/cli-default.js
RUN --mount=type=secret,id=ca --mount=type=cache,target=/npm-cache \
    [ ! -f /run/secrets/ca ] || export npm_config_cafile=/run/secrets/ca; \
    npm ci --cache /npm-cache --ignore-scripts --no-audit --no-fund --omit=dev --omit=optional --omit=peer

# What is left is what runs here. SQLite is opened once, so that a base it does not fit fails now and not at the start.
RUN find node_modules dist -type f \( -name '*.map' -o -name '*.md' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' \) -delete \
 && rm -rf node_modules/@types node_modules/better-sqlite3/deps node_modules/better-sqlite3/src \
 && find node_modules/better-sqlite3/prebuilds -type f ! -name "linux-$(node -p process.arch).node" -delete \
 && node -e "new (require('better-sqlite3'))(':memory:').close()"

# The same input makes the same layer: the modes and times of the files are set, not found.
ARG SOURCE_DATE_EPOCH=0
# The image holds what the package holds: `files` of package.json is the one list.
RUN mkdir -p /out/app /out/data /out/usr/local/bin \
 && npm pack --silent --ignore-scripts --pack-destination /tmp \
 && tar -xzf /tmp/waybill-*.tgz -C /out/app --strip-components=1 && cp -R node_modules /out/app/ \
 && chmod -R u=rwX,go=rX /out/app && chmod 755 /out/app/dist/cli.js \
 && ln -s /app/dist/cli.js /out/usr/local/bin/waybill && chmod 700 /out/data && chown 1000:1000 /out/data \
 && find /out -exec touch --no-dereference --date="@${SOURCE_DATE_EPOCH}" {} +

FROM ${BASE_IMAGE}
LABEL org.opencontainers.image.title="Waybill" \
      org.opencontainers.image.description="A local gateway for language models that keeps a record of where each call went." \
      org.opencontainers.image.licenses="MIT"
COPY --from=build /out /
ENV NODE_ENV=production \
    WAYBILL_HOST=0.0.0.0 \
    WAYBILL_PORT=4949 \
    WAYBILL_DATA=/data \
    WAYBILL_CONFIG=/data/waybill.yaml \
    XDG_CONFIG_HOME=/data
WORKDIR /data
VOLUME /data
EXPOSE 4949
USER 1000:1000
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s --retries=3 \
  CMD ["node", "-e", "require('node:http').get('http://127.0.0.1:' + process.env.WAYBILL_PORT + '/healthz', ({ statusCode }) => process.exit(statusCode === 200 ? 0 : 1)).on('error', () => process.exit(1))"]
ENTRYPOINT ["node", "/app/dist/cli.js"]
CMD ["serve"]
