# docker build -t divisor .
# docker run --init --read-only --tmpfs /tmp --shm-size=1g -v divisor:/var/lib/divisor -p 127.0.0.1:8080:8080 -e DIVISOR_API_KEYS=... divisor
# The base image is pinned by its digest, so that builds are repeatable. A newer one, with its security fixes:
#   docker buildx imagetools inspect node:24-slim
#   docker build --build-arg NODE_IMAGE=node:24-slim@sha256:... -t divisor .
ARG NODE_IMAGE=node:24-slim@sha256:a9f5f7c91a432850b2a8a7797adf5eadb6c733ceed61167806cee7ea7fbc29df
FROM ${NODE_IMAGE} AS build
WORKDIR /divisor
# The compiler of the native kernels.
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
# Scripts of packages are not run: the native ones come as finished libraries.
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts
COPY . .
# The image has no repository: docker build --build-arg DIVISOR_COMMIT="$(git rev-parse HEAD)" .
ARG DIVISOR_COMMIT=
# The image contains the package of npm with its tested dependencies, and the code cache of its own Node.
RUN npm run packages && grep -q '"why":null' dist/kernels/native/built.json \
    && mv dist/packages/staged/divisor /release && cp dist/bundle/dispatch* /release/dist/bundle/ \
    && npm ci --prefix /release --omit=dev --ignore-scripts

FROM ${NODE_IMAGE}
ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    PORT=8080 \
    DIVISOR_HOME=/var/lib/divisor
WORKDIR /divisor
# Program and packages belong to root and are only read; the home is the one place the service writes, beside /tmp and /dev/shm.
COPY --from=build /release ./
RUN groupadd --system --gid 8080 divisor \
    && useradd --system --uid 8080 --gid divisor --home-dir /var/lib/divisor --shell /usr/sbin/nologin divisor \
    && install --directory --owner=divisor --group=divisor --mode=0700 /var/lib/divisor /mnt/shared
USER divisor
VOLUME /var/lib/divisor
EXPOSE 8080
# Listening beyond loopback needs a key: DIVISOR_API_KEYS, or `divisor keys create` on the volume before the first start.
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
    CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/health/live').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "dist/src/main.js"]
CMD ["serve"]
