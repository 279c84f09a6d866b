# One image for `npm run serve` and `npm run work`.
FROM node:24.21.0-slim AS packages
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --no-audit --no-fund && npm cache clean --force

FROM node:24.21.0-slim AS console
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY api api
COPY domain domain
COPY runtime runtime
COPY store store
COPY web web
RUN npm run console

FROM node:24.21.0-slim
# For TLS of what is not Node, such as Temporal's client.
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY package.json package-lock.json LICENSE NOTICE ./
COPY activities activities
COPY api api
COPY cli cli
COPY connectors connectors
COPY docs docs
COPY domain domain
COPY runtime runtime
COPY server server
COPY store store
COPY temporal temporal
COPY web web
COPY --from=console /app/web/built web/built
COPY workflows workflows
RUN install -d -o node -g node -m 0700 /var/lib/millrace
ENV NODE_ENV=production HOST=0.0.0.0 MILLRACE_DATA_DIR=/var/lib/millrace npm_config_update_notifier=false
USER node
VOLUME /var/lib/millrace
EXPOSE 8080
CMD ["npm", "run", "serve"]
