# Stampede in a container (docs/docker.md). `docker build -t stampede:full .` is the program with the distribution's runtimes, so
# that `docker run --rm stampede:full` compares them; `docker build --target stampede -t stampede .` is the program alone. It is
# built here, unless target/image/stampede is there, as after make dist.
ARG DEBIAN=debian:bookworm-slim
ARG RUST=rust:1.95-slim-bookworm

FROM ${RUST} AS build
WORKDIR /src
COPY . .
# LuaJIT is built with make.
RUN if [ ! -x target/image/stampede ]; then apt-get update && apt-get install --yes --no-install-recommends make; fi
RUN if [ ! -x target/image/stampede ]; then \
        cargo build --profile dist --locked --package stampede && install -D --strip target/dist/stampede target/image/stampede; \
    fi

FROM ${DEBIAN} AS stampede
RUN useradd --create-home --uid 10001 stampede
COPY --from=build /src/target/image/stampede /usr/local/bin/stampede
# Root, who alone may use an engine's socket that is shown to the container. A load is driven as well by `--user stampede`.
WORKDIR /home/stampede
ENTRYPOINT ["stampede"]
CMD ["--help"]

FROM stampede AS full
USER root
# Services of the packages are not started: Stampede starts its own servers.
RUN printf '#!/bin/sh\nexit 101\n' > /usr/sbin/policy-rc.d && chmod +x /usr/sbin/policy-rc.d \
    && apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends \
        apache2-bin caddy haproxy libapache2-mod-php nginx pgbouncer php-cli php-fpm php-intl php-mbstring \
        php-parsedown php-pgsql php-sqlite3 postgresql supervisor uwsgi-plugin-php \
    && rm -rf /var/lib/apt/lists/*
# Measures without any rights, as long as no limits are enforced.
USER stampede
CMD ["compare", "markdown", "--rounds", "3", "--duration", "5s"]
