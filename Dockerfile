# The product's only image: the router, the workers, the prune job and the ops CLI, chosen by the command.
#   docker run … gateway/main.ts | workers/main.ts | jobs/prune/main.ts | cli/main.ts <command>
# The target `demo` adds the back-end stand-ins of dev/.

ARG NODE_IMAGE=node:24-trixie-slim

FROM ${NODE_IMAGE} AS dependencies
WORKDIR /app
# The overrides of package.json point into gateway/overrides: npm needs them to install.
COPY package.json package-lock.json .npmrc ./
COPY gateway/overrides gateway/overrides
# The optional packages are Node and the identity provider of `npm start`; the image needs neither.
RUN npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund

# Everything that .dockerignore does not exclude. A list of folders here could miss a new one.
FROM ${NODE_IMAGE} AS sources
WORKDIR /app
COPY . .
# config/default.properties is for the embedded stack. The image has a file of its own that opens the ports to other containers.
RUN mv dev /embedded-stack && cp deploy/image/default.properties config/default.properties

FROM ${NODE_IMAGE} AS product
ENV NODE_ENV=production
WORKDIR /app
COPY --from=sources /app .
COPY --from=dependencies /app/node_modules node_modules
# Created by the user who runs the programs, because Node keeps one cache per user id. Read-only afterwards.
ENV NODE_COMPILE_CACHE=/app/compile-cache
RUN install -d -o 1000 -g 1000 compile-cache
USER 1000:1000
RUN ["node", "--disable-warning=ExperimentalWarning", "deploy/image/compile.mjs"]
USER root
RUN chown -R root:root compile-cache && chmod -R a=rX compile-cache
# The user `node` of the base image owns none of these files.
USER 1000:1000
EXPOSE 8080 8081
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["node", "deploy/image/health.mjs", "live"]
# lib/process/launch-settings.ts explains the value.
ENV MALLOC_ARENA_MAX=2
ENTRYPOINT ["node", "--disable-warning=ExperimentalWarning", "--max-semi-space-size=8"]
CMD ["gateway/main.ts"]

FROM product AS demo
ENV NODE_ENV=development
COPY --from=sources /embedded-stack dev
USER root
RUN install -d -o 1000 -g 1000 /state
USER 1000:1000
EXPOSE 8084
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8084/').then(() => process.exit(0), () => process.exit(1))"]
CMD ["dev/back-ends/main.ts"]

# The default target of `docker build .`.
FROM product
